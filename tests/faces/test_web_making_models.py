"""Making an assessment of several models, of a judge, or with labels that may be wrong, in the browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

from tests.support.making import QUESTION, ROWS, csrf, desk, files, submit, table, upload, upload_all, words


def test_several_models_in_one_file(uploads: Path) -> None:
    rows = [{"id": row["ticket"], "text": row["text"], "old": row["pred"], "new": "a"} for row in ROWS]
    with desk() as (client, site):
        path = upload(client, table(rows), "models.csv").url.path
        here = submit(client, path, do="again", models="old,new")
        assert "models differ on 30 of 60 items" in words(here)
        asked = QUESTION | {"task": "compare-models", "groups": "whole", "a": "new", "b": "old", "rope": "1"}
        assert submit(client, f"{path}/question", do="make", **asked).url.path == "/dashboard/tickets"
        assert fl.load(site.store, "tickets").spec.task == fl.CompareModels(fl.Accuracy(), "new", "old", rope=0.01)


def answers_of(model: str) -> bytes:
    """The answers of one of two models, which differ on every second item."""
    rows = [{"id": row["ticket"], "text": row["text"], "pred": row["pred"] if model == "old" else "a"} for row in ROWS]
    return table(rows if model == "old" else rows[::-1])


def test_two_files_are_two_models_as_on_the_command_line(tmp_path: Path, uploads: Path) -> None:
    for model in ("old", "new"):
        (tmp_path / f"{model}.csv").write_bytes(answers_of(model))
    typed = [
        "new",
        tmp_path / "a.db",
        "tickets",
        tmp_path / "old.csv",
        tmp_path / "new.csv",
        "--stop-probability",
        0.95,
    ]
    said = CliRunner().invoke(cli, [*map(str, typed), "--compare-models", "new,old", "--rope", "0.01"])
    assert said.exit_code == 0, said.output
    with desk() as (client, site):
        here = upload_all(client, {f"{model}.csv": answers_of(model) for model in ("old", "new")})
        assert "What was understood in old.csv and new.csv" in words(here)
        assert "60 items, 2 classes" in words(here)
        assert "models differ on 30 of 60 items" in words(here)
        assert "Found: old, new." in words(here)
        assert len(files(uploads)) == 2
        path = here.url.path
        few = submit(client, path, do="next", models="only one")
        assert few.status_code == 422
        assert "“Names of the models” has 1 name for 2 files" in words(few)
        assert submit(client, path, do="next", models="").url.path == f"{path}/question"
        form = client.get(f"{path}/question")
        assert re.search(r'value="compare-models" checked', form.text)  # of two, the question is which is better
        assert re.findall(r'name="[ab]" value="(\w+)"', form.text) == ["new", "old"]
        assert 'name="name" value="old-new"' in form.text
        asked = QUESTION | {"task": "compare-models", "groups": "whole", "a": "new", "b": "old", "rope": "1"}
        made = submit(client, f"{path}/question", do="make", **asked | {"sure": "95"})
        assert made.url.path == "/dashboard/tickets", words(made)
        ours, theirs = fl.load(site.store, "tickets"), fl.load(tmp_path / "a.db")
        assert ours.spec == theirs.spec
        assert ours.pool.fingerprint == theirs.pool.fingerprint
        theirs.close()
    assert files(uploads) == []


def test_models_with_commas_in_their_names_are_compared_by_how_often_they_are_right(uploads: Path) -> None:
    with desk() as (client, site):
        sent = {"v1, old.csv": answers_of("old"), "v2, new.csv": answers_of("new")}
        path = f"{upload_all(client, sent).url.path}/question"
        asked = QUESTION | {"task": "compare-models", "groups": "whole", "a": "v2, new", "b": "v1, old", "rope": "1"}
        refused = submit(client, path, do="make", **asked | {"metric": "f1"})
        assert refused.status_code == 422
        assert "Models are compared by how often they are right. Choose accuracy." in words(refused)
        made = submit(client, path, do="make", **asked)
        assert made.url.path == "/dashboard/tickets", words(made)
        task = fl.load(site.store, "tickets").spec.task
        assert isinstance(task, fl.CompareModels)
        assert (task.a, task.b) == ("v2, new", "v1, old")


def test_questions_about_one_of_several_models(uploads: Path) -> None:
    with desk() as (client, site):
        path = upload_all(client, {f"{model}.csv": answers_of(model) for model in ("old", "new")}).url.path
        asked = QUESTION | {"task": "lowest", "lowest": "1", "model": "old"}
        for fields, field in (
            ({"groups": "whole"}, "groups"),  # of one group, none is the worst
            ({"model": "new"}, "groups"),  # which predicts one class only
            ({"task": "best", "noisy": "yes"}, "noisy"),
        ):
            refused = submit(client, f"{path}/question", do="make", **asked | {"groups": "predicted"} | fields)
            assert re.findall(r'id="(\w+)-wrong"', refused.text) == [field], words(refused)
            assert "()" not in words(refused)
        assert '<option value="predicted"' in client.get(f"{path}/question").text
        made = submit(client, f"{path}/question", do="make", **asked | {"groups": "predicted"})
        assert made.url.path == "/dashboard/tickets", words(made)
        spec = fl.load(site.store, "tickets").spec
    assert (spec.task, spec.model) == (fl.Identify(fl.Accuracy(), lowest=1), "old")


def test_files_of_one_name_are_told_apart(uploads: Path) -> None:
    with desk() as (client, _):
        sent = [("file", ("answers.csv", answers_of(model))) for model in ("old", "new")]
        here = client.post("/new/upload", data={"csrf": csrf(client)}, files=[*sent, ("file", ("", b""))])
        assert "Found: answers, answers-2." in words(here)
        named = submit(client, here.url.path, do="again", models="old, new")
        assert "2 models: old, new." in words(named)


def test_files_of_which_one_cannot_be_read_or_of_other_items(uploads: Path) -> None:
    with desk() as (client, _):
        answer = upload_all(client, {"old.csv": answers_of("old"), "new.parquet": b"PAR1"})
        assert answer.status_code == 422
        assert "new.parquet" in words(answer)
        assert files(uploads) == []
        other = table([{"id": f"x{i}", "pred": "a"} for i in range(60)])
        here = upload_all(client, {"old.csv": answers_of("old"), "new.csv": other})
        assert "--" not in words(here)
        assert 'class="wrong"' in here.text


def test_twenty_files_are_taken_beside_an_empty_field(uploads: Path) -> None:
    def sent(count: int) -> list[tuple[str, tuple[str, bytes]]]:
        return [("file", (f"m{i}.csv", answers_of("old"))) for i in range(count)] + [("file", ("", b""))]

    with desk() as (client, _):
        many = client.post("/new/upload", data={"csrf": csrf(client)}, files=sent(21))
        assert many.status_code == 422
        assert re.search(r'id="file-wrong" class="wrong" role="alert">Choose at most 20 files', many.text)
        assert client.post("/new/upload", data={"csrf": csrf(client)}, files=sent(101)).status_code == 400
        assert files(uploads) == []
        taken = client.post("/new/upload", data={"csrf": csrf(client)}, files=sent(20))
        assert "20 models: m0, m1" in words(taken)


VERDICTS = [
    {
        "id": row["ticket"],
        "question": row["text"],
        "answer": "Yes.",
        "verdict": ("pass", "fail")[i % 3 == 0],
        "b": i % 2,
    }
    for i, row in enumerate(ROWS)
]


def test_verdicts_of_a_judge_as_on_the_command_line(tmp_path: Path, uploads: Path) -> None:
    (tmp_path / "tickets.csv").write_bytes(table(VERDICTS))
    typed = ["new", tmp_path / "a.db", tmp_path / "tickets.csv", "--verdict", "verdict", "--evidence", "b"]
    said = CliRunner().invoke(cli, [*map(str, typed), "--stop-overall", "0.1"])
    assert said.exit_code == 0, said.output
    with desk() as (client, site):
        here = upload(client, table(VERDICTS))
        assert here.status_code == 200
        assert re.search(r'value="verdict" selected', here.text)  # there is no other answer in the file
        assert "true classes that the classifier never predicts" not in here.text  # a judge passes or fails
        assert re.findall(r'name="content" value="(\w+)" checked', here.text) == ["question", "answer"]
        path = here.url.path
        assert submit(client, path, do="next", verdict="verdict", evidence=["b"]).url.path == f"{path}/question"
        form = client.get(f"{path}/question")
        assert "How many would people pass" in words(form)
        asked = QUESTION | {"metric": "prevalence", "groups": "whole", "overall": "10"}
        made = submit(client, f"{path}/question", do="make", **asked)
        assert made.url.path == "/dashboard/tickets", words(made)
        ours, theirs = fl.load(site.store, "tickets"), fl.load(tmp_path / "a.db")
        assert ours.spec == theirs.spec
        assert ours.spec.task == fl.Estimate(fl.Prevalence("pass"))
        assert ours.pool.fingerprint == theirs.pool.fingerprint
        assert ours.pool.evidence == ("b",)
        theirs.close()


def test_several_judges_are_not_several_models(uploads: Path) -> None:
    rows = [row | {"judge_b": ("pass", "fail")[i % 2], "b": 0} for i, row in enumerate(VERDICTS)]
    with desk() as (client, _):
        here = upload(client, table(rows))
        assert re.search(r'value="verdict" selected', here.text)
        assert re.findall(r'name="evidence" value="(\w+)" checked', here.text) == ["judge_b"]
        assert "models" not in words(here).partition("The columns")[0]


def test_a_gate_about_verdicts_and_words_that_do_not_say_which_passes(uploads: Path) -> None:
    rows = [row | {"verdict": "blue" if row["verdict"] == "pass" else "green"} for row in VERDICTS]
    with desk() as (client, site):
        path = upload(client, table(rows)).url.path
        unclear = submit(client, path, do="next", verdict="verdict")
        assert unclear.status_code == 422
        assert 'id="positive-wrong"' in unclear.text
        assert "means pass" in words(unclear)
        submit(client, path, do="next", verdict="verdict", positive="blue")
        asked = QUESTION | {"task": "certify", "line": "60", "sure": "90", "metric": "prevalence", "groups": "whole"}
        made = submit(client, f"{path}/question", do="make", **asked)
        assert made.url.path == "/dashboard/tickets", words(made)
        task = fl.load(site.store, "tickets").spec.task
    assert task == fl.Certify(fl.Prevalence("blue"), at_least=0.6, sure=0.9)


def test_labels_that_may_be_wrong(uploads: Path) -> None:
    with desk() as (client, site):
        path = upload(client).url.path
        asked = QUESTION | {"overlap": "2", "labels_right": "97", "gold": "t1, a\nt2\tb\n"}
        refused = submit(client, f"{path}/question", do="make", **asked)
        assert 'id="noisy-wrong"' in refused.text
        for gold, said in (
            ("t1 a", "is not an id, a comma"),
            ("t999,a", "t999"),
            ("t1,zebra", "“All classes”"),
            ("t1,a\nt2,b\nt1,a\nt1,b", "is listed as"),
        ):
            answer = submit(client, f"{path}/question", do="make", **asked | {"noisy": "yes", "gold": gold})
            found = re.search(r'id="gold-wrong" class="wrong" role="alert">([^<]*)<', answer.text)
            assert found, words(answer)
            assert said in found[1]
            assert "Nothing was changed" not in found[1]
        coin = submit(client, f"{path}/question", do="make", **asked | {"noisy": "yes", "labels_right": "50"})
        assert 'id="labels_right-wrong"' in coin.text
        assert (
            submit(client, f"{path}/question", do="make", **asked | {"noisy": "yes"}).url.path == "/dashboard/tickets"
        )
        spec = fl.load(site.store, "tickets").spec
    assert (spec.noisy, spec.labels_right, spec.overlap) == (True, 0.97, 2)
    assert dict(spec.gold) == {"t1": "a", "t2": "b"}
