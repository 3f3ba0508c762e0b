"""How a file of predictions and the words of a question are understood: as a pool, a task and stopping rules.

The command line and the pages of the web app make their assessments by it. What is said comes as the options of
`fewlabels new`: about the file as `ReadOptions`, about the question as `QuestionOptions`.
"""
