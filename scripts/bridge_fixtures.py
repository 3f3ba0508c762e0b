"""Record the files in tests/fixtures/bridges with the programs that own the formats.

    python -m scripts.bridge_fixtures inspect FOLDER

Each program needs an environment of its own, with the version that tests/fixtures/bridges/README.md names: inspect_ai,
lm_eval, datasets, deepeval, mlflow, argilla or label-studio. What is large and never read (events, hashes, usage) is
taken out again.
promptfoo is written in JavaScript: the first run of its target writes the configuration, then comes
`promptfoo eval -o promptfoo.json` in that folder, and the second run takes out what is large.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.support.bridges import COUNT, TEAMS, is_sum_wrong, language, said, sum_asked, sum_said, team, ticket


def inspect(folder: Path) -> None:
    """Logs of Inspect: multiple choice as .eval and .json, and sums with two scorers as .eval."""
    import tiktoken

    class Words:  # counts tokens without a download
        def encode(self, text: str, **_: Any) -> list[str]:
            return text.split()

    tiktoken.get_encoding = lambda _: Words()
    from inspect_ai import Task
    from inspect_ai import eval as run
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log import write_eval_log
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.scorer import choice, includes, match
    from inspect_ai.solver import generate, multiple_choice

    def record(task: Task, outputs: list[str], *files: str) -> None:
        model = get_model(
            "mockllm/model", custom_outputs=[ModelOutput.from_content("mockllm/model", text) for text in outputs]
        )
        (log,) = run(task, model=model, log_dir=str(folder / "logs"), max_samples=1, max_connections=1, display="none")
        for sample in log.samples or []:
            sample.events, sample.messages, sample.attachments, sample.store = [], [], {}, {}
        for file in files:
            write_eval_log(log, str(folder / file))

    letter = dict(zip(TEAMS, "ABC", strict=True))
    tickets = [
        Sample(
            id=f"t{i}", input=ticket(i), choices=list(TEAMS), target=letter[team(i)], metadata={"language": language(i)}
        )
        for i in range(COUNT)
    ]
    answers = [f"ANSWER: {letter[said(i)]}" for i in range(COUNT)]
    task = Task(name="tickets", dataset=MemoryDataset(tickets), solver=multiple_choice(), scorer=choice())
    record(task, answers, "inspect.eval", "inspect.json")
    sums = [Sample(id=i, input=sum_asked(i), target=str(i + 7)) for i in range(COUNT)]
    task = Task(name="sums", dataset=MemoryDataset(sums), solver=generate(), scorer=[match(numeric=True), includes()])
    record(task, [sum_said(i) for i in range(COUNT)], "inspect-sums.eval")


def lm_eval(folder: Path) -> None:
    """Samples of lm-evaluation-harness: multiple choice with likelihoods, and sums with two filters."""
    import lm_eval as harness
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Toy(LM):  # type: ignore[misc]
        def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
            places = [(int(r.args[0].split()[1].rstrip(":")), r.args[1].strip()) for r in requests]
            return [(-0.5 if said(i) == choice else -2.0 - i / 100, False) for i, choice in places]

        def loglikelihood_rolling(self, requests: list[Any]) -> list[Any]:
            return []

        def generate_until(self, requests: list[Any]) -> list[str]:
            return [sum_said(int(request.args[0].split()[2])) for request in requests]

    rows = [{"text": ticket(i), "label": TEAMS.index(team(i)), "language": language(i)} for i in range(COUNT)]
    (folder / "tickets.json").write_text(json.dumps(rows))
    (folder / "sums.json").write_text(
        json.dumps([{"question": sum_asked(i), "n": i, "answer": str(i + 7)} for i in range(COUNT)])
    )
    common = "dataset_path: json\ntest_split: test\n"
    (folder / "tickets.yaml").write_text(
        f"task: tickets\n{common}dataset_kwargs: {{data_files: {{test: {folder / 'tickets.json'}}}}}\n"
        'output_type: multiple_choice\ndoc_to_text: "{{text}}"\ndoc_to_target: label\n'
        f"doc_to_choice: {json.dumps(TEAMS)}\nmetric_list: [{{metric: acc}}]\n"
    )
    way = "  - name: {}\n    filter: [{{function: regex, regex_pattern: '{}'}}, {{function: take_first}}]\n"
    ways = way.format("strict", "The sum is (\\d+)") + way.format("flexible", "(\\d+)")
    (folder / "sums.yaml").write_text(
        f"task: sums\n{common}dataset_kwargs: {{data_files: {{test: {folder / 'sums.json'}}}}}\n"
        'output_type: generate_until\ndoc_to_text: "{{question}}"\ndoc_to_target: "{{answer}}"\n'
        f'generation_kwargs: {{until: ["\\n"]}}\nfilter_list:\n{ways}metric_list: [{{metric: exact_match}}]\n'
    )
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    found = harness.simple_evaluate(
        model=Toy(), tasks=["tickets", "sums"], task_manager=manager, log_samples=True, bootstrap_iters=0
    )
    tracker = EvaluationTracker(output_path=str(folder / "out"))
    tracker.general_config_tracker.model_name_sanitized = "toy"
    samples = found.pop("samples")
    tracker.save_results_aggregated(results=found, samples=samples)
    for task, ones in samples.items():
        tracker.save_results_samples(task_name=task, samples=ones)
        (written,) = (folder / "out").rglob(f"samples_{task}_*.jsonl")
        rows = [json.loads(line) for line in written.read_text().splitlines()]
        rows = [{key: value for key, value in row.items() if not key.endswith("_hash")} for row in rows]
        (folder / f"lm-eval-{task}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def datasets(folder: Path) -> None:
    """A dataset of Hugging Face, saved to disk in two files, as the only split of a dictionary."""
    from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

    names = ClassLabel(names=[*TEAMS, "nobody"])
    kinds = {"id": "string", "text": "string", "confidence": "float32", "language": "string"}
    features = Features({**{key: Value(kind) for key, kind in kinds.items()}, "predicted": names, "label": names})
    rows = [
        {"id": f"t{i}", "text": ticket(i), "confidence": 0.5 + i / 100, "language": language(i),
         "predicted": said(i), "label": team(i)}
        for i in range(COUNT)
    ]  # fmt: skip
    saved = DatasetDict({"test": Dataset.from_list(rows, features=features)})
    saved.save_to_disk(str(folder / "saved-dataset"), num_shards={"test": 2})


def deepeval(folder: Path) -> None:
    """A test run of DeepEval, with a metric that needs no model."""
    os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_RESULTS_FOLDER": str(folder / "out")}
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, DisplayConfig
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase

    class Right(BaseMetric):  # type: ignore[misc]
        __name__ = "Correctness"
        threshold, async_mode, evaluation_model, score, success = 0.5, False, "rule", 0.0, False

        def measure(self, case: Any, *_: Any, **__: Any) -> float:
            self.score = 1.0 if case.expected_output in case.actual_output else 0.25
            self.success = self.score >= self.threshold
            return self.score

        def is_successful(self) -> bool:
            return self.success

    cases = [
        LLMTestCase(name=f"sum-{i}", input=sum_asked(i), actual_output=sum_said(i), expected_output=str(i + 7),
                    metadata={"language": language(i)})
        for i in range(COUNT)
    ]  # fmt: skip
    evaluate(
        cases, [Right()], async_config=AsyncConfig(run_async=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )  # fmt: skip
    (written,) = (folder / "out").glob("test_run_*.json")
    (folder / "deepeval.json").write_text(written.read_text())


def mlflow(folder: Path) -> None:
    """Traces of MLflow with the feedback of a judge and of a person, and a table that it has logged."""
    os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"
    import mlflow as library
    import pandas as pd
    from mlflow.entities import AssessmentSource

    library.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")
    library.set_experiment("sums")

    @library.trace  # type: ignore[untyped-decorator]
    def answer(question: str) -> str:
        return sum_said(int(question.split()[2]))

    lines = []
    for i in range(COUNT):
        answer(sum_asked(i))
        trace = library.get_last_active_trace_id()
        judged = "yes" if i % 6 == 0 or not is_sum_wrong(i) else "no"
        library.log_feedback(trace_id=trace, name="is_right", value=judged, source=AssessmentSource("LLM_JUDGE", "toy"))
        if i % 2 == 0:
            by_ann = AssessmentSource("HUMAN", "ann")
            library.log_feedback(
                trace_id=trace, name="is_right", value="no" if is_sum_wrong(i) else "yes", source=by_ann
            )
        library.set_trace_tag(trace, "language", language(i))
        row = json.loads(library.get_trace(trace).to_json())
        for key in ("trace_metadata", "trace_location"):
            row["info"].pop(key)
        row["info"]["tags"].pop("mlflow.artifactLocation")
        lines.append(json.dumps(row) + "\n")
    (folder / "mlflow-traces.jsonl").write_text("".join(lines))
    columns = {
        "inputs": [ticket(i) for i in range(COUNT)],
        "predictions": [said(i) for i in range(COUNT)],
        "targets": [team(i) for i in range(COUNT)],
    }
    with library.start_run() as run:
        library.log_table(pd.DataFrame(columns), "mlflow-table.json")
    library.artifacts.download_artifacts(
        run_id=run.info.run_id, artifact_path="mlflow-table.json", dst_path=str(folder)
    )


def promptfoo(folder: Path) -> None:
    """The configuration of an evaluation with two models that run without a network; or its results, made smaller."""
    if (written := folder / "promptfoo.json").exists():
        data = json.loads(written.read_text())
        for row in data["results"]["results"]:
            del row["tokenUsage"], row["gradingResult"]["tokensUsed"]
        written.write_text(json.dumps(data))
        return
    tests = [
        {"vars": {"ticket": ticket(i), "language": language(i)}, "assert": [{"type": "equals", "value": team(i)}]}
        for i in range(COUNT)
    ]
    (folder / "tests.json").write_text(json.dumps(tests))
    for name, every in {"small": 5, "large": 9}.items():
        answers = json.dumps({ticket(i): said(i, every) for i in range(COUNT)})
        (folder / f"{name}.js").write_text(
            f"const answers = {answers};\nmodule.exports = class {{ id() {{ return '{name}'; }}\n"
            "  async callApi(prompt) { return { output: answers[prompt] }; } };\n"
        )
    (folder / "promptfooconfig.yaml").write_text(
        'prompts: ["{{ticket}}"]\nproviders: [file://small.js, file://large.js]\ntests: file://tests.json\n'
    )


def argilla(folder: Path) -> None:
    """Records of Argilla as a dataset exports them: some have two answers, and the last has none."""
    import uuid

    from argilla import Record, Response
    from argilla.records._io import JsonIO

    ann, bob = uuid.UUID(int=1), uuid.UUID(int=2)
    records = []
    for i in range(COUNT):
        responses = [Response("label", team(i), user_id=ann)] if i < COUNT - 1 else []
        responses += [Response("label", team(i), user_id=bob)] if i % 10 == 0 else []
        records.append(Record(id=f"t{i}", fields={"text": ticket(i)}, responses=responses))
    JsonIO.to_json(records, folder / "argilla.json")


def label_studio(folder: Path) -> None:
    """The JSON export of Label Studio, by its own API in this process: our tasks, two people; the last is skipped.

    The first run, with fewlabels, writes the tasks; the second, where Label Studio is installed, imports them.
    """
    if not (folder / "tasks.json").exists():
        _tasks_of_label_studio(folder)
        return
    spec = importlib.util.find_spec("label_studio")
    assert spec is not None
    assert spec.origin is not None
    sys.path.insert(0, str(Path(spec.origin).parent))
    os.environ |= {"DJANGO_SETTINGS_MODULE": "core.settings.label_studio", "LABEL_STUDIO_BASE_DATA_DIR": str(folder)}
    import django

    django.setup()
    from django.core.management import call_command
    from organizations.models import Organization
    from rest_framework.test import APIClient
    from tasks.models import Task
    from users.models import User

    call_command("migrate", verbosity=0)
    people = [User.objects.create_user(email=f"{name}@example.com", password=name) for name in ("ann", "bob")]
    office = Organization.create_organization(created_by=people[0], title="desk")
    office.add_user(people[1])
    clients = [APIClient(), APIClient()]
    for person, client in zip(people, clients, strict=True):
        person.active_organization = office
        person.save()
        client.force_authenticate(person)
    config = (folder / "tasks.xml").read_text()
    project = clients[0].post("/api/projects", {"title": "tickets", "label_config": config}, format="json").json()["id"]
    tasks = json.loads((folder / "tasks.json").read_text())
    clients[0].post(f"/api/projects/{project}/import", tasks, format="json")
    for task in Task.objects.filter(project=project):
        i = int(task.data["item_id"].removeprefix("t"))
        chosen = {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [team(i)]}}
        said_so = {"result": [] if i == COUNT - 1 else [chosen], "was_cancelled": i == COUNT - 1}
        clients[i % 2].post(f"/api/tasks/{task.id}/annotations/", said_so, format="json")
    export = clients[0].get(f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true")
    (folder / "label-studio.json").write_bytes(
        b"".join(export.streaming_content) if export.streaming else export.content
    )


def _tasks_of_label_studio(folder: Path) -> None:
    import fewlabels as fl

    columns = {"id": [f"t{i}" for i in range(COUNT)], "predicted": [said(i) for i in range(COUNT)]}
    pool = fl.read_pool(columns | {"text": [ticket(i) for i in range(COUNT)]}, content="text", classes=TEAMS)
    fl.write_label_studio(fl.create(None, "tickets", pool).ask(COUNT), folder / "tasks.json", TEAMS)


def prodigy(folder: Path) -> None:
    """What `prodigy db-out` writes after two people have seen tasks of fewlabels: by hand, without Prodigy."""
    options = [{"id": name, "text": name} for name in TEAMS]
    rows = [
        {"text": ticket(i), "options": options, "item_id": f"t{i}", "_input_hash": 7 * i - 99, "_task_hash": 3 * i - 99,
         "_view_id": "choice", "accept": [] if i == COUNT - 1 else [team(i)],
         "answer": "ignore" if i == COUNT - 1 else "accept", "_timestamp": 1794809903 + i,
         "_annotator_id": f"tickets-{'ann' if i % 2 else 'bob'}", "_session_id": f"tickets-{'ann' if i % 2 else 'bob'}"}
        for i in range(COUNT)
    ]  # fmt: skip
    (folder / "prodigy.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def doccano(folder: Path) -> None:
    """What doccano exports as JSONL, where the last text has no label yet: from its source."""
    rows = [
        {
            "id": 1001 + i,
            "text": ticket(i),
            "item_id": f"t{i}",
            "label": [] if i == COUNT - 1 else [team(i)],
            "Comments": [],
        }
        for i in range(COUNT)
    ]
    (folder / "doccano.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


if __name__ == "__main__":
    _ALL = (inspect, lm_eval, datasets, deepeval, mlflow, promptfoo, argilla, label_studio, prodigy, doccano)
    which, into = sys.argv[1:]
    Path(into).mkdir(parents=True, exist_ok=True)
    {one.__name__: one for one in _ALL}[which](Path(into).resolve())
