"""The custom resource that runs CodeBuild projects while a stack deploys."""

from collections.abc import Mapping
from pathlib import Path

from aws_cdk import CustomResource, Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import custom_resources as cr
from constructs import Construct

from decision_constructs.acknowledgement import acknowledge, acknowledge_wildcard
from decision_constructs.build_project import BuildProject

_HANDLER = Path(__file__).parent / "build_trigger_handler"
_POLL = Duration.seconds(5)
_PATIENCE = Duration.minutes(58)
"""CloudFormation gives a custom resource up after an hour, without a reason; we want to be first, with one."""


class BuildTrigger(Construct):
    """Runs CodeBuild projects once for each output, waits, and hands on what came out.

    One serves all builds of a stack. A failed build fails the deployment with the complaint and the link to its log.
    """

    def __init__(self, scope: Construct, construct_id: str, *, encryption_key: kms.IKey | None) -> None:
        super().__init__(scope, construct_id)
        log_group = logs.LogGroup(
            self,
            "Log",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=RemovalPolicy.DESTROY,
            encryption_key=encryption_key,
        )
        self._functions = [
            lambda_.Function(
                self,
                name,
                role=_function_role(self, f"{name}Role", log_group),
                runtime=lambda_.Runtime.PYTHON_3_14,
                code=lambda_.Code.from_asset(str(_HANDLER), exclude=["__pycache__"]),
                handler=f"handler.{entry}",
                timeout=Duration.minutes(1),
                log_group=log_group,
            )
            for name, entry in (("OnEvent", "on_event"), ("IsComplete", "is_complete"))
        ]
        on_event, is_complete = self._functions
        self._provider = cr.Provider(
            self,
            "Provider",
            on_event_handler=on_event,
            is_complete_handler=is_complete,
            query_interval=_POLL,
            total_timeout=_PATIENCE,
            log_group=log_group,
            framework_on_event_role=_function_role(self, "FrameworkOnEventRole", log_group),
            framework_complete_and_timeout_role=_function_role(self, "FrameworkWaitRole", log_group),
            disable_waiter_state_machine_logging=False,
            waiter_state_machine_log_options=cr.LogOptions(destination=log_group, level=sfn.LogLevel.ALL),
        )
        self._acknowledge_what_the_provider_does()

    def _acknowledge_what_the_provider_does(self) -> None:
        """cdk-nag's findings in CDK's own Provider, which it has no settings for."""
        versions = "CDK's Provider calls a function with the right to all its versions; it matches nothing else."
        waited_for = [self._provider.node.find_child(f"framework-{name}") for name in ("isComplete", "onTimeout")]
        for function in (*self._functions, *(node for node in waited_for if isinstance(node, lambda_.Function))):
            acknowledge_wildcard(self, f"{function.function_arn}:*", versions)
        acknowledge(
            self, "AwsSolutions-SF2", "The state machine only waits for a build: its history and log say all there is."
        )
        acknowledge_wildcard(self, "*", "The state machine's delivery of its log: those actions know no resource.")

    def run(
        self,
        construct_id: str,
        *,
        project: BuildProject,
        output: Mapping[str, str],
        grants: list[iam.PolicyStatement],
        wildcards: Mapping[str, str] | None = None,
    ) -> CustomResource:
        """Run `project` whenever `output` is another one and does not exist.

        Each build has a policy of its own, so that one may use what another has made.

        Args:
            construct_id: the custom resource's id, in the project's scope.
            project: its environment names everything the build reads, so that it needs no arguments.
            output: `Bucket` and `Key`, or `RepositoryName` and `ImageTag` (see the handler).
            grants: what lets the handler see whether the output exists.
            wildcards: the resources of `grants` that have a `*`, and why.

        Returns:
            the resource: attributes ModelDataUrl and Sha256, or ImageUri and ImageDigest.
        """
        start, log = ["codebuild:StartBuild", "codebuild:BatchGetBuilds"], project.log_group.log_group_arn
        policy = iam.Policy(
            project,
            f"{construct_id}Trigger",
            roles=[function.role for function in self._functions if function.role],
            statements=[
                iam.PolicyStatement(actions=start, resources=[project.project_arn]),
                iam.PolicyStatement(actions=["logs:GetLogEvents"], resources=[log]),
                *grants,
            ],
        )
        for bound, reason in (wildcards or {}).items():
            acknowledge_wildcard(policy, bound, reason)
        resource = CustomResource(
            project,
            construct_id,
            service_token=self._provider.service_token,
            resource_type="Custom::Build",
            properties={"ProjectName": project.project_name, **output},
        )
        resource.node.add_dependency(*self._functions, policy, project)
        return resource


def _function_role(scope: Construct, construct_id: str, log_group: logs.ILogGroup) -> iam.Role:
    """Writes the log; AWS's managed policy for it would allow every log group."""
    role = iam.Role(scope, construct_id, assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    log_group.grant_write(role)
    return role
