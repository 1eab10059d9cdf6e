"""``python -m tests.torture --minutes 10 --seed 1``: torture tables; exit code 1 when one of them was harmed."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.torture.kinds import KINDS, kind_named
from tests.torture.run import torture_all


def main() -> int:
    """Run and print the totals."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long all tables together are tortured")
    parser.add_argument("--seed", type=int, default=1, help="what the signals and jobs are drawn from")
    parser.add_argument("--kind", action="append", choices=[kind.name for kind in KINDS], help="only these tables")
    parser.add_argument("--pause", type=float, default=0.1, help="mean seconds between two signals")
    arguments = parser.parse_args()
    kinds = tuple(map(kind_named, arguments.kind)) if arguments.kind else KINDS
    outcomes = torture_all(kinds, arguments.minutes * 60, arguments.seed, pause_s=arguments.pause)
    strikes: Counter[str] = Counter()
    reports: Counter[str] = Counter()
    sorts: Counter[str] = Counter()
    for outcome in outcomes:
        strikes.update(outcome.strikes)
        reports.update(outcome.reports)
        sorts.update(finding.sort for finding in outcome.findings.wrong)
    print(f"{sum(strikes.values())} signals: {dict(strikes)}")
    print(f"reports of the processes: {dict(sorted(reports.items()))}")
    print(
        f"{sum(o.findings.commits for o in outcomes)} commits, "
        f"{sum(o.acknowledged_jobs for o in outcomes)} acknowledged, "
        f"{sum(o.findings.snapshots for o in outcomes)} snapshots replayed, "
        f"{sum(o.findings.rewinds for o in outcomes)} rollbacks and fast-forwards, "
        f"{sum(o.findings.claims for o in outcomes)} reads, "
        f"{sum(o.findings.references for o in outcomes)} tags and branches"
    )
    print(f"findings: {dict(sorts) or 'none'}")
    return 1 if sorts else 0


if __name__ == "__main__":
    sys.exit(main())
