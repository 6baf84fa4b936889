"""What both commands print."""

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from decide.evaluation import wording
from decide.evaluation.calibration import Fitted, Quality
from decide.evaluation.comparison import Comparison
from decide.evaluation.measures import Share, threshold_for
from decide.evaluation.summary import SHOWN_ACCURACIES, THRESHOLDS, Summary
from decide.evaluation.wording import Shown
from decide.output import plain, results

_STYLES = ("cyan", "yellow")


def print_evaluation(shown: Sequence[Shown], comparison: Comparison | None) -> None:
    """The table, what the policy comes to, and which thresholds would do; for two runs, which is better."""
    results.print(_table(shown))
    for one in shown:
        name = f"{one.name}: " if len(shown) > 1 else ""
        first = ", ".join(wording.duration(seconds) for seconds in one.evaluation.first_seconds)
        basis = f"{name}{one.run.header.endpoint}, {_model(one)}; first request apart: {first or '–'}"
        results.print(plain(basis, "dim"), soft_wrap=True)
        results.print(plain(f"{name}{_policy(one)}"), soft_wrap=True)
        results.print(plain(f"{name}{_targets(one)}"), soft_wrap=True)
    if comparison is not None:
        results.print(plain(wording.verdict(comparison), "bold"), soft_wrap=True)


def print_fitted(fitted: Fitted, content: dict[str, object]) -> None:
    """What was fitted, and what it does to the probabilities."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in ("", "as served", "calibrated, out-of-fold"):
        table.add_column(name, justify="right" if name else "left")
    for label, name in (("log loss", "log_loss"), ("Brier", "brier"), ("ECE", "ece")):
        table.add_row(label, wording.number(getattr(fitted.before, name)), wording.number(getattr(fitted.after, name)))
    results.print(table)
    results.print(_reliability("as served", fitted.before))
    results.print(_reliability("calibrated, out-of-fold", fitted.after))
    for one in fitted.tried:
        taken = "taken" if one.taken else "not taken"
        results.print(
            plain(
                f"{one.name}: log loss {one.log_loss:.4f}, lower than before it by {one.gain.mean:.4f} "
                f"(95% interval {one.gain.low:.4f} to {one.gain.high:.4f}); {taken}"
            ),
            soft_wrap=True,
        )
    for name in ("temperature", "by_type", "by_option_count"):
        if content[name]:
            results.print(plain(f"{name}: {content[name]}", "bold"))


def _table(shown: Sequence[Shown]) -> Table:
    flips = any(one.evaluation.overall.flips.of for one in shown)
    two = len(shown) > 1
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("family", overflow="fold")
    columns = ("valid", "accuracy", "95%", "log loss", "Brier", "ECE", "p50", "p95")
    for name in (*([""] if two else []), *columns, *(["flips"] if flips else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for line in wording.families(shown):
        if line["name"] == "all":
            table.add_section()
        for place, one in enumerate(line["cells"]):
            if one is not None:
                run = [shown[place].name] if two else []
                cells: list[str | Text] = [
                    plain(line["name"]),
                    *run,
                    *_cells(one),
                    *([wording.percent(one.flips)] if flips else []),
                ]
                table.add_row(*cells, style=_STYLES[place] if two else "")
    return table


def _cells(one: Summary) -> list[str]:
    low, high = one.accuracy.interval
    return [
        f"{one.valid.count}/{one.valid.of}",
        wording.percent(one.accuracy),
        f"{100 * low:.1f}–{100 * high:.1f}",
        *map(wording.number, (one.log_loss, one.brier, one.ece)),
        *map(wording.duration, (one.p50_seconds, one.p95_seconds)),
    ]


def _model(one: Shown) -> str:
    model = one.run.model
    name = model.gguf.file if model and model.gguf else "model unknown"
    calibration = f"calibrated by {model.calibration}" if model and model.calibration else "uncalibrated"
    return f"{name}, {calibration}"


def _policy(one: Shown) -> str:
    policy, overall = one.evaluation.policy, one.evaluation.overall
    rules = ", ".join(f"{name} {value:g}" for name in THRESHOLDS if (value := getattr(policy, name)))
    return (
        f"with {rules or 'no threshold'}: {_share(overall.accepted)} of the decisions acted on, "
        f"{_share(overall.accepted_correct)} of these right"
    )


def _targets(one: Shown) -> str:
    found = [(accuracy, threshold_for(one.evaluation.curve, accuracy)) for accuracy in SHOWN_ACCURACIES]
    reached = [
        f"{accuracy:.0%} from probability {point.threshold:.3f} on, {wording.percent(point.accepted)} acted on"
        for accuracy, point in found
        if point
    ]
    missed = next((f"no threshold reaches {accuracy:.0%}" for accuracy, point in found if not point), "")
    return "right by the lower end of the interval: " + "; ".join(filter(None, [*reached, missed]))


def _share(share: Share) -> str:
    return f"{wording.percent(share)} ({share.count}/{share.of})"


def _reliability(title: str, quality: Quality) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, title=title, title_justify="left")
    for name in ("probability of the choice", "mean", "right", "rows"):
        table.add_column(name, justify="right")
    for one in quality.bins:
        table.add_row(
            f"{one.low:.1f} to {one.high:.1f}",
            f"{one.mean_confidence:.1%}",
            wording.percent(one.accuracy),
            str(one.accuracy.of),
        )
    return table
