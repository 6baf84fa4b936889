"""A destroyed environment leaves nothing, and can be deployed again."""

import json

from local_cloud import Cloud, demo, deployment
from tests.e2e.account import made_by, what_is_there


def test_nothing_stays_of_a_destroyed_environment_and_it_deploys_again(cloud: Cloud, endpoints: dict[str, str]) -> None:
    made = made_by(cloud, deployment.ENVIRONMENT)
    ours = {
        kind: {name for name in names if any(identifier.endswith(name.lower()) for identifier in made)}
        for kind, names in what_is_there(cloud).items()
    }
    assert all(ours.values()), ours

    deployment.destroy(cloud)

    left = {kind: names & ours[kind] for kind, names in what_is_there(cloud).items()}
    assert not any(left.values()), left

    deployment.deploy(cloud)

    answer = deployment.client(cloud, "sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoints["decision"], ContentType="application/json", Body=json.dumps(demo.ONE_DECISION)
    )
    assert json.load(answer["Body"])["result"]["option_ids"]
