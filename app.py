"""The CDK application: `cdk deploy -c env=<name>` deploys the environment of environments/<name>.toml."""

import sys
from pathlib import Path

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from decision_constructs import settings
from decision_constructs.errors import DeploymentError
from stacks import ArtifactStack, EndpointStack

ENVIRONMENTS = Path(__file__).parent / "environments"


def main() -> None:
    """Synthesize the environment named by the context value `env`."""
    app = cdk.App()
    name = app.node.try_get_context("env")
    chosen = settings.load(name or "", ENVIRONMENTS)
    where = cdk.Environment(account=chosen.account, region=chosen.region)
    tags = {"decision-endpoints:environment": name}
    artifacts = ArtifactStack(
        app,
        "Artifacts",
        stack_name=f"decision-endpoints-{name}-artifacts",
        environment=name,
        settings=chosen,
        env=where,
        tags=tags,
    )
    EndpointStack(
        app,
        "Endpoints",
        stack_name=f"decision-endpoints-{name}-endpoints",
        environment=name,
        settings=chosen,
        artifacts=artifacts,
        env=where,
        tags=tags,
    )
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()


if __name__ == "__main__":
    try:
        main()
    except DeploymentError as error:
        sys.exit(str(error))
    except RuntimeError as error:
        if "ValidationFailed" not in str(error):
            raise
        sys.exit("Nothing was synthesized. Mend each finding, or acknowledge it with its reason (docs/security.md).")
