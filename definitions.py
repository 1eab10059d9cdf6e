"""The composition root: assets, checks, jobs, schedules, sensors and resources become one ``Definitions``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

import dagster as dg

# Automation, freshness and single-run backfills are marked beta or preview and are used on purpose: no noise at load.
warnings.filterwarnings("ignore", category=dg.BetaWarning)
warnings.filterwarnings("ignore", category=dg.PreviewWarning)
# A job that makes the mart and its sources is backfilled in weeks, as the mart is.
warnings.filterwarnings("ignore", message="Asset job .* materializes assets with varying BackfillPolicies")

from assets import all_assets, all_checks  # noqa: E402
from assets.landing import ShopFeed  # noqa: E402
from dagster_paimon.io.io_manager import PaimonIOManager  # noqa: E402
from dagster_paimon.resources.lakehouse import LakehouseCatalog  # noqa: E402
from dagster_paimon.resources.plain_log import plain_log  # noqa: E402
from dagster_paimon.resources.spark import SparkResource  # noqa: E402
from jobs import all_jobs, all_schedules  # noqa: E402
from resources.landing import LandingZone  # noqa: E402
from sensors import all_sensors  # noqa: E402

_PROJECT: Final = str(Path(__file__).resolve().parent)
_lakehouse: Final = LakehouseCatalog(warehouse=dg.EnvVar("LAKEHOUSE_WAREHOUSE"), base_directory=_PROJECT)
_spark: Final = SparkResource()

defs: Final = dg.Definitions(
    assets=all_assets,
    asset_checks=all_checks,
    jobs=all_jobs,
    schedules=all_schedules,
    sensors=[
        *all_sensors,
        dg.AutomationConditionSensorDefinition(
            "automation", target=dg.AssetSelection.all(), default_status=dg.DefaultSensorStatus.RUNNING
        ),
    ],
    resources={
        "lakehouse": _lakehouse,
        "spark": _spark,
        "paimon_io": PaimonIOManager(lakehouse=_lakehouse, spark=_spark),
        "landing": LandingZone(path=dg.EnvVar("LAKEHOUSE_LANDING"), base_directory=_PROJECT),
        "feed": ShopFeed(),
    },
    loggers={"console": dg.colored_console_logger, "plain": plain_log},
    # One JVM for all steps of a run.
    executor=dg.in_process_executor,
)
