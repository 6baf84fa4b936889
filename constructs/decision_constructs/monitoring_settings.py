"""Settings of logs and alarms. Thresholds are per endpoint, since what is normal differs; defaults suit most."""

from typing import Annotated, Literal

from pydantic import Field

from decision_constructs.section import Section

Percent = Annotated[int, Field(ge=1, le=100, description="1 to 100 percent")]
Count = Annotated[int, Field(ge=1, le=1_000_000, description="1 to 1000000 in five minutes")]
Milliseconds = Annotated[
    int, Field(ge=1, le=60_000, description="1 to 60000 milliseconds; SageMaker ends a request after 60000")
]
QuietMinutes = Annotated[
    int, Field(ge=1, le=1440, description="1 to 1440 minutes without a request after which something is wrong")
]
RetentionDays = Annotated[
    Literal[1, 7, 14, 30, 90, 180, 365, 731, 1827, 3653],
    Field(description="1, 7, 14, 30, 90, 180, 365, 731, 1827 or 3653 days, which CloudWatch Logs knows"),
]
TopicArn = Annotated[
    str,
    Field(
        pattern=r"^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+$",
        description="an SNS topic, arn:aws:sns:<region>:<account>:<name>",
    ),
]


class Monitoring(Section):
    """Logs, dashboard, and the topic that hears of every alarm."""

    topic_arn: TopicArn | None = None
    log_retention_days: RetentionDays = 90
    dashboard: bool = True


class Alarms(Section):
    """When an endpoint needs somebody's attention. Counts and rates are over five minutes."""

    server_errors: Count = 5
    server_error_percent: Percent = 50
    client_error_percent: Percent = 10
    latency_p95_milliseconds: Milliseconds | None = None
    memory_percent: Percent = 90
    disk_percent: Percent = 90
    quiet_minutes: QuietMinutes | None = None


class DecisionAlarms(Alarms):
    """The decision container also says how often it was busy."""

    busy_rejections: Count = 20
