"""The command line. Modules here import heavy things inside the commands, so that --help is quick."""
