"""A checkpoint belongs to one program and one process; anything else is refused with the reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.lab.baselines import with_buffering
from penstock.model.streams import Origin
from penstock.optimizer.optimize import beside, optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program, walk
from penstock.optimizer.specs import StaticJoinSpec
from penstock.plan.nodes import Project, TableJoin
from penstock.spark.placement.partitioning import partitioning
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from penstock.spark.state.checkpoint import Checkpoint, Continued, describe
from penstock.spark.state.program_log import ProgramLog
from tests.spark.placement.plans import plan
from tests.spark.state.programs import COUNT, ONE, program


def claimed(folder: Path, first: Program, *, accept_changes: bool = False) -> None:
    keys = partitioning(*first.queries.values())
    checkpoint = Checkpoint(folder, first, keys=keys, accept_changes=accept_changes)
    checkpoint.confirm(first)
    checkpoint.release()


def refused(folder: Path, second: Program) -> str:
    with pytest.raises(HostError) as caught:
        Checkpoint(folder, second, keys=partitioning(*second.queries.values()))
    return str(caught.value)


def begun(folder: Path) -> Checkpoint:
    checkpoint = Checkpoint(folder, ONE)
    checkpoint.confirm(ONE)
    return checkpoint


def test_the_same_queries_continue_it(tmp_path: Path) -> None:
    claimed(tmp_path / "c", ONE)
    claimed(tmp_path / "c", program({"q": COUNT.format(s=5)}))


@pytest.mark.parametrize(
    ("queries", "difference"),
    [
        ({"q": COUNT.format(s=1)}, "query q changed"),
        ({"p": COUNT.format(s=5)}, "query q gone; query p new"),
    ],
)
def test_other_queries_are_refused(
    tmp_path: Path, queries: dict[str, str], difference: str
) -> None:
    claimed(tmp_path, ONE)
    assert f"belongs to other queries: {difference}\n" in refused(tmp_path, program(queries))
    claimed(tmp_path, ONE)  # a refusal lets go of the lock, and changes nothing


def test_other_queries_continue_it_where_changes_are_accepted(tmp_path: Path) -> None:
    texts = {"q": COUNT.format(s=5), "p": COUNT.format(s=1)}
    claimed(tmp_path, program(texts))
    claimed(
        tmp_path, program({"q": COUNT.format(s=2), "r": COUNT.format(s=1)}), accept_changes=True
    )
    log = ProgramLog(tmp_path)
    assert [sorted(entry.program["query"]) for entry in log.entries()] == [["p", "q"], ["q", "r"]]
    assert [entry.batch for entry in log.entries()] == [0, 0], "no batch has begun in between"
    assert "query p new" in refused(tmp_path, program(texts))


def test_a_stream_that_changes_or_goes_is_refused_whoever_accepts_changes(tmp_path: Path) -> None:
    both = program({"q": "SELECT k, ts FROM a UNION b"})
    claimed(tmp_path, both)
    a, b = both.streams
    for streams, difference in [
        ((replace(a, slack=7), b), "stream a changed"),
        ((a,), "stream b gone"),
        ((b, a), "the streams are in another order"),
    ]:
        with pytest.raises(HostError, match=difference):
            Checkpoint(tmp_path, replace(both, streams=streams), accept_changes=True)


def test_the_same_queries_in_another_order_continue_it(tmp_path: Path) -> None:
    texts = {"q": COUNT.format(s=5), "p": COUNT.format(s=1)}
    claimed(tmp_path, program(texts))
    claimed(tmp_path, program(dict(reversed(texts.items()))))


def test_streams_in_other_places_are_refused(tmp_path: Path) -> None:
    both = program({"q": "SELECT k, ts FROM a UNION b"})
    claimed(tmp_path, both)
    other = replace(both, streams=both.streams[::-1])
    assert "the streams are in another order" in refused(tmp_path, other)


def test_a_query_beside_those_that_were_there_belongs_to_it_from_then_on(tmp_path: Path) -> None:
    claimed(tmp_path, ONE)
    both = {"p": COUNT.format(s=1), "q": COUNT.format(s=5)}
    [group] = assign_pipelines(
        {name: plan(text) for name, text in both.items()}, continued=found(tmp_path)
    )
    second = group.program()
    assert list(second.queries) == ["q", "p"]
    assert second.plans["q"] == ONE.plans["q"]
    checkpoint = Checkpoint(tmp_path, second, keys=group.keys)
    assert checkpoint.changes is not None
    assert (checkpoint.changes.kept, checkpoint.changes.added) == (("q",), ("p",))
    checkpoint.confirm(second)
    checkpoint.release()
    [kept] = found(tmp_path)
    assert kept.plans == second.plans
    assert "query p gone" in refused(tmp_path, ONE)
    [again] = assign_pipelines(group.queries, continued=[kept])
    assert again.program().plans == second.plans
    checkpoint = Checkpoint(tmp_path, again.program(), keys=again.keys)
    assert checkpoint.changes is not None
    assert checkpoint.changes.added == ()
    checkpoint.release()


def test_a_query_goes_on_by_the_operators_that_it_had(tmp_path: Path) -> None:
    """What is chosen may depend on the machine, and on what was measured."""
    sliding = {"q": plan(COUNT.format(s=1))}
    before = replace(optimize(sliding, Options(aggregation="paned")), options=Options())
    assert optimize(sliding).plans != before.plans
    claimed(tmp_path, before)
    [group] = assign_pipelines(sliding, continued=found(tmp_path))
    assert group.program().plans == before.plans
    claimed(tmp_path, group.program())
    claimed(tmp_path, replace(group, options=Options(aggregation="paned")).program())


def test_a_setting_that_changes_nothing_of_a_query_continues_it(tmp_path: Path) -> None:
    """It has neither union nor join, and late rows are judged where they come in."""
    claimed(tmp_path, ONE)
    for options in (Options(union="merge", join="mjoin"), Options(late="drop", strategy="bfs")):
        queries = {"q": plan(COUNT.format(s=5))}
        [group] = assign_pipelines(queries, {"q": options}, found(tmp_path))
        assert group.program().plans == ONE.plans
        claimed(tmp_path, group.program())


@pytest.mark.parametrize(
    ("text", "options", "setting"),
    [
        (COUNT.format(s=1), Options(aggregation="paned"), "aggregation was auto and is paned"),
        (
            COUNT.format(s=1),
            Options(aggregation="two_level"),
            "aggregation was auto and is two_level",
        ),
        (COUNT.format(s=1), Options(late="consistent"), "late was keep and is consistent"),
        ("SELECT k, ts FROM a UNION b", Options(union="merge"), "union was auto and is merge"),
    ],
)
def test_a_setting_by_which_other_operators_are_asked_for_is_refused(
    tmp_path: Path, text: str, options: Options, setting: str
) -> None:
    queries = {"q": plan(text)}
    claimed(tmp_path, PipelineGroup.of(queries, Options()).program())
    [group] = assign_pipelines(queries, {"q": options}, found(tmp_path))
    message = refused(tmp_path, group.program())
    assert f"operators of query q changed; setting {setting}" in message
    assert "continue it with the queries and settings it was begun with" in message


def test_the_operators_that_were_chosen_are_refused_to_whoever_asks_for_others(
    tmp_path: Path,
) -> None:
    """Though by costs the same would be chosen today."""
    sliding = {"q": plan(COUNT.format(s=1))}
    chosen = optimize(sliding, Options(aggregation="paned"))
    claimed(tmp_path, replace(chosen, options=Options()))
    wid = Options(aggregation="wid")
    assert optimize(sliding, wid).plans == optimize(sliding).plans
    [group] = assign_pipelines(sliding, {"q": wid}, found(tmp_path))
    message = refused(tmp_path, group.program())
    assert "operators of query q changed; setting aggregation was auto and is wid" in message


def test_a_query_goes_on_beside_others_by_options_of_its_own(tmp_path: Path) -> None:
    texts = {name: plan(COUNT.format(s=s)) for name, s in (("q", 5), ("p", 1))}
    adapt = {"p": Options(aggregation="adapt")}
    program = beside(optimize({}, Options()), texts, own=adapt)
    claimed(tmp_path, program)
    [group] = assign_pipelines(texts, {"p": Options(aggregation="adapt")}, found(tmp_path))
    assert group.program().plans == program.plans
    assert group.program().own == adapt
    claimed(tmp_path, group.program())
    # As any other query it must be told to change, and then does so alone.
    [group] = assign_pipelines(texts, {}, found(tmp_path))
    message = refused(tmp_path, group.program())
    assert "operators of query p changed; setting aggregation was adapt and is auto" in message
    assert group.program().plans["q"] == program.plans["q"]


def test_a_query_that_a_baseline_computed_is_refused_with_the_reason(tmp_path: Path) -> None:
    """`SET aggregation = buffering` could be set once; a query that has no windows goes on."""
    texts = {"q": plan(COUNT.format(s=5)), "p": plan("SELECT k, ts FROM a")}
    for name, message in (
        ("q", "operators of query q changed; setting aggregation was buffering and is auto; "),
        ("p", ""),
    ):
        folder, query = tmp_path / name, {name: texts[name]}
        old = optimize(query, Options(aggregation="buffering"))
        claimed(folder, old.by(with_buffering(old.plans)))
        [group] = assign_pipelines(query, continued=found(folder))
        if message:
            said = refused(folder, group.program())
            assert message in said
            assert "`aggregation` can no longer be `buffering`: it is a baseline, which" in said
            assert "`./penstock experiment W1` compares with `wid`" in said
            claimed(folder, group.program(), accept_changes=True)
        else:
            claimed(folder, group.program())


def test_a_static_table_is_there_again_with_its_rows(tmp_path: Path) -> None:
    texts = {"q": plan("SELECT a.k, t.n FROM a JOIN t ON a.k = t.k")}
    claimed(tmp_path, optimize(texts))
    [group] = assign_pipelines(texts, continued=found(tmp_path))
    specs = (each.spec for each in walk(group.program().plans.values()))
    [join] = [spec.join for spec in specs if isinstance(spec, StaticJoinSpec)]
    assert join.table.content


def test_a_query_over_another_stream_gets_a_pipeline_of_its_own(tmp_path: Path) -> None:
    claimed(tmp_path, ONE)
    texts = {
        "p": "SELECT k, ts FROM a UNION b",  # would add a source
        "r": COUNT.format(s=5).replace(" GROUP BY k", "").replace("k, ", ""),  # other keys
        "q": COUNT.format(s=5),
    }
    groups = assign_pipelines(
        {name: plan(text) for name, text in texts.items()}, continued=found(tmp_path)
    )
    first, *others = groups
    assert list(first.queries) == ["q"]
    assert first.continued is not None
    assert [group.continued for group in others] == [None] * len(others)


def test_the_checkpoint_that_has_all_of_its_queries_is_continued_first(tmp_path: Path) -> None:
    texts = {"q": COUNT.format(s=5), "p": COUNT.format(s=1)}
    claimed(tmp_path / "p", program({"p": texts["p"]}))
    claimed(tmp_path / "q", program(texts))
    claimed(tmp_path / "x", program({"p": texts["p"], "x": COUNT.format(s=2)}))
    plans = {name: plan(text) for name, text in texts.items()}
    [group] = assign_pipelines(plans, continued=found(*(tmp_path / name for name in "pqx")))
    assert group.continued is not None
    assert group.continued.folder == tmp_path / "q"


def found(*folders: Path) -> list[Continued]:
    return [there for folder in folders if (there := Continued.at(folder))]


def test_another_union_or_stream_is_another_program() -> None:
    [stream] = ONE.streams
    others = [
        replace(ONE, options=Options(late="drop")),
        replace(ONE, streams=(replace(stream, slack=7),)),
        replace(ONE, streams=(replace(stream, origin=Origin("parquet", "x")),)),
        replace(ONE, streams=(replace(stream, origin=Origin("kafka", None, (("a", "1"),))),)),
        replace(ONE, streams=(replace(stream, columns=stream.columns[1:]),)),
    ]
    texts = [str(describe(each)) for each in [ONE, *others]]
    assert len(set(texts)) == len(texts)


def test_a_static_table_with_other_rows_is_another_program(tmp_path: Path) -> None:
    top = plan("SELECT a.k, t.n FROM a JOIN t ON a.k = t.k")
    assert isinstance(top, Project)
    assert isinstance(top.input, TableJoin)
    other = replace(top.input, table=top.input.table.holding(b"other rows", 2))
    claimed(tmp_path, optimize({"q": top}))
    message = refused(tmp_path, optimize({"q": replace(top, input=other)}))
    assert "table t, query q changed" in message


def test_a_second_process_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    first = Checkpoint(tmp_path, ONE)
    assert "is in use by another process" in refused(tmp_path, ONE)
    first.release()
    claimed(tmp_path, ONE)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert f"cannot keep a checkpoint at `{tmp_path / 'file' / 'c'}`" in refused(
        tmp_path / "file" / "c", ONE
    )


def test_it_is_new_until_spark_has_written_offsets(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, ONE)
    seen = [checkpoint.is_new]
    (checkpoint.spark / "offsets").mkdir(parents=True)
    assert [*seen, checkpoint.is_new] == [True, False]
    assert checkpoint.control.parent == checkpoint.spark.parent == tmp_path


def test_groups_stay_as_they_were_at_the_beginning(tmp_path: Path) -> None:
    first = begun(tmp_path)
    assert first.groups([2, 0]) == [2, 0]
    first.release()
    assert Checkpoint(tmp_path, ONE).groups([2, 0, 14, 3]) == [2, 0]


def test_a_file_that_is_no_description_is_named(tmp_path: Path) -> None:
    claimed(tmp_path, ONE)
    (tmp_path / "programs" / "0.json").write_text('{"half')
    assert "programs/0.json" in refused(tmp_path, ONE)


def test_groups_that_were_edited_are_refused(tmp_path: Path) -> None:
    first = begun(tmp_path)
    first.groups([2, 0])
    first.release()
    file = tmp_path / "groups.json"
    written = json.loads(file.read_text())
    file.write_text(json.dumps({**written, "content": [14, 0]}))
    checkpoint = Checkpoint(tmp_path, ONE)
    with pytest.raises(HostError, match=r"groups\.json` was changed since it was written"):
        checkpoint.groups([2, 0])
    checkpoint.release()


@pytest.mark.parametrize("name", ["programs", "groups.json"])
def test_a_file_that_is_gone_from_a_used_checkpoint_is_named(tmp_path: Path, name: str) -> None:
    first = begun(tmp_path)
    first.groups([2, 0])
    (first.spark / "offsets").mkdir(parents=True)
    first.release()
    (tmp_path / name).rename(tmp_path / "elsewhere")
    with pytest.raises(HostError, match=f"the checkpoint is damaged: .*{name}` is gone"):
        Checkpoint(tmp_path, ONE).groups([2, 0])


def test_nobody_else_reads_a_checkpoint_and_no_secret_stands_in_it(tmp_path: Path) -> None:
    def reading(topic: str, password: str) -> Program:
        [stream] = ONE.streams
        jaas = f'org.X required username="u" password="{password}";'
        options = (("kafka.sasl.jaas.config", jaas), ("subscribe", topic))
        return replace(ONE, streams=(replace(stream, origin=Origin("kafka", None, options)),))

    place = tmp_path / "c"
    claimed(place, reading("bids", "hunter2"))
    file = place / "programs" / "0.json"
    assert (place.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    assert "hunter2" not in file.read_text()
    assert "bids" in file.read_text()
    # A password that was changed opens the same stream.
    claimed(place, reading("bids", "hunter3"))
    message = refused(place, reading("asks", "hunter3"))
    assert "stream a changed" in message
    assert "hunter3" not in message
