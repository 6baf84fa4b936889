"""The custom resource that runs CodeBuild projects while a stack deploys."""

from collections.abc import Mapping
from pathlib import Path

from aws_cdk import CustomResource, Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import custom_resources as cr
from constructs import Construct

from decision_constructs.build_project import BuildProject

_HANDLER = Path(__file__).parent / "build_trigger_handler"
_POLL = Duration.seconds(5)
_PATIENCE = Duration.minutes(58)
"""CloudFormation gives a custom resource up after an hour, without a reason; we want to be first, with one."""


class BuildTrigger(Construct):
    """Runs CodeBuild projects once for each output, waits, and hands on what came out.

    One serves all builds of a stack. A failed build fails the deployment with the complaint and the link to its log.
    """

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        log_group = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        self._functions = [
            lambda_.Function(
                self,
                name,
                runtime=lambda_.Runtime.PYTHON_3_12,
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
        )

    def run(
        self,
        construct_id: str,
        *,
        project: BuildProject,
        output: Mapping[str, str],
        grants: list[iam.PolicyStatement],
    ) -> CustomResource:
        """Run `project` whenever `output` is another one and does not exist.

        Args:
            construct_id: the custom resource's id, in the project's scope.
            project: its environment names everything the build reads, so that it needs no arguments.
            output: `Bucket` and `Key`, or `RepositoryName` and `ImageTag` (see the handler).
            grants: what lets the handler see whether the output exists.

        Returns:
            the resource: attributes ModelDataUrl and Sha256, or ImageUri and ImageDigest.
        """
        build = iam.PolicyStatement(
            actions=["codebuild:StartBuild", "codebuild:BatchGetBuilds"], resources=[project.project_arn]
        )
        resource = CustomResource(
            project,
            construct_id,
            service_token=self._provider.service_token,
            resource_type="Custom::Build",
            properties={"ProjectName": project.project_name, **output},
        )
        for function in self._functions:
            for statement in (build, *grants):
                function.add_to_role_policy(statement)
            project.log_group.grant(function, "logs:GetLogEvents")
            resource.node.add_dependency(function)
        resource.node.add_dependency(project)
        return resource
