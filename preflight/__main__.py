"""`python -m preflight <environment>`: one line for each thing a deployment needs; exits 1 when there is one to do."""

import sys
from pathlib import Path

import botocore.session

from decision_constructs import settings
from decision_constructs.errors import DeploymentError
from preflight import account, sources

ENVIRONMENTS = Path(__file__).parents[1] / "environments"


def main(environment: str) -> int:
    """Print the report; returns the exit status."""
    chosen = settings.load(environment, ENVIRONMENTS)
    session = botocore.session.Session()
    todo = False
    for line in (*account.lines(environment, chosen, session), *sources.lines(chosen, session)):
        print(line)
        todo |= line.todo is not None
    return int(todo)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:2] or [""]))
    except DeploymentError as error:
        sys.exit(str(error))
