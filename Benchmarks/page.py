"""What the pages of results and of growth share: tables beside the peers, and the list of what peers do better."""
from figures import LATEWOOD, Results, disagreements, short


def times(ratio):
    """A ratio with two digits that say something."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


class Page:
    TITLE, EXPLANATION = "", ""
    # The head of the column that names a row, and whether the spread of Latewood's own rounds
    # has a column.
    ROWS, HAS_SPREAD = "workload", True

    def __init__(self, figures, facts, failures=()):
        self.results = Results(figures)
        self.facts = facts
        # Runs that failed or were stopped, and leave a page nevertheless.
        self.failures = failures
        self.peers = [engine for engine in self.results.engines() if engine != LATEWOOD]
        self.behind = []
        self.lines = []

    # MARK: Figures

    def median(self, engine, workload, metric, length):
        return self.results.median(engine, workload, metric, length)

    def spread(self, workload, metric, length):
        values = self.results.figures.get((LATEWOOD, length, workload, metric))
        return f"{max(values) / min(values):.2f}" if values and min(values) > 0 else "-"

    def advantage(self, own, other, is_cost):
        """How many times better Latewood is; None if that cannot be said."""
        if own is None or other is None or own <= 0 or other <= 0:
            return None
        return other / own if is_cost else own / other

    # MARK: Tables

    def table(self, rows, what, is_cost):
        """rows: label, workload, metric, length. A row that Latewood has not is left out, and so is a
        peer that has none of them."""
        rows = [row for row in rows if self.median(LATEWOOD, *row[1:]) is not None]
        peers = [engine for engine in self.peers if any(self.median(engine, *row[1:]) is not None for row in rows)]
        head = [self.ROWS, LATEWOOD] + peers + ["spread"] * self.HAS_SPREAD
        cells = []
        for name, workload, metric, length in rows:
            own = self.median(LATEWOOD, workload, metric, length)
            cell = [name, short(own)]
            for engine in peers:
                other = self.median(engine, workload, metric, length)
                ratio = self.advantage(own, other, is_cost)
                cell.append(short(other) + (f" ({times(ratio)})" if ratio else ""))
                if ratio and ratio < 1:
                    self.behind.append((ratio, name, what, engine, own, other))
            cells.append(cell + [self.spread(workload, metric, length)] * self.HAS_SPREAD)
        if cells:
            self.write_table(head, cells)
        return bool(cells)

    def titled(self, title, rows, what, is_cost):
        """A table below its title; neither without figures. Returns whether there are any."""
        start = len(self.lines)
        self.lines += [title, ""]
        if self.table(rows, what, is_cost):
            return True
        del self.lines[start:]
        return False

    def write_table(self, head, rows):
        self.lines.append("| " + " | ".join(head) + " |")
        self.lines.append("| --- |" + " ---: |" * (len(head) - 1))
        self.lines += ["| " + " | ".join(row) + " |" for row in rows]
        self.lines.append("")

    def head(self):
        self.lines += [f"# {self.TITLE}", "", self.EXPLANATION, "| | |", "| --- | --- |"]
        self.lines += [f"| {name} | {value} |" for name, value in self.facts]
        self.lines.append("")

    def failed_runs(self):
        if self.failures:
            self.lines += ["## What failed", ""]
            rows = [
                [workload, engine, round_, "stopped, since it took too long" if status == "124" else f"status {status}"]
                for round_, engine, _, workload, _, status in self.failures
            ]
            self.write_table(["run", "engine", "round", "how it ended"], rows)

    def disadvantages(self):
        self.lines += ["## Where a peer is better", ""]
        if not self.behind:
            self.lines += ["Nowhere in this run." if self.peers else "There were no peers in this run.", ""]
            return
        rows = [
            [name, what, engine, short(own), short(other), times(ratio)]
            for ratio, name, what, engine, own, other in sorted(self.behind)
        ]
        self.write_table([self.ROWS, "figure", "peer", LATEWOOD, "the peer's", "ratio"], rows)


def problems_of(figures, failures):
    """Says why there is no page: wrong answers, answers that differ, no figures of Latewood."""
    problems = ["wrong answer or failure: " + ",".join(row) for row in failures]
    problems += ["answers differ: " + difference for difference in disagreements(figures)]
    if not any(engine == LATEWOOD for engine, *_ in figures):
        problems.append("there are no figures of Latewood")
    return problems


def write_page(path, text, charts):
    """Writes a page, and its charts to the folder beside it."""
    folder = path.parent / "Charts"
    folder.mkdir(parents=True, exist_ok=True)
    for name, image in charts.items():
        (folder / f"{name}.svg").write_text(image, encoding="utf-8")
    path.write_text(text, encoding="utf-8")
