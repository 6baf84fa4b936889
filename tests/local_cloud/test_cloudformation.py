"""Stacks: the resource types MiniStack lacks, and that a failure rolls back to what served."""

import json

import pytest

LAMBDA = """
import json, urllib.request

def handler(event, context):
    answer = {
        "Status": "SUCCESS", "PhysicalResourceId": "custom", "StackId": event["StackId"],
        "RequestId": event["RequestId"], "LogicalResourceId": event["LogicalResourceId"],
        "Data": {"Answer": "from python"},
    }
    request = urllib.request.Request(event["ResponseURL"], data=json.dumps(answer).encode(), method="PUT")
    urllib.request.urlopen(request)
"""


def template(image: str, url: str, *, count: object = 1, **environment: str) -> dict:
    return {
        "Resources": {
            "Model": {
                "Type": "AWS::SageMaker::Model",
                "Properties": {
                    "ExecutionRoleArn": "arn:aws:iam::000000000000:role/execution",
                    "PrimaryContainer": {"Image": image, "ModelDataUrl": url, "Environment": environment},
                },
            },
            "Config": {
                "Type": "AWS::SageMaker::EndpointConfig",
                "Properties": {
                    "ProductionVariants": [
                        {
                            "VariantName": "primary",
                            "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
                            "InstanceType": "ml.c6i.large",
                            "InitialInstanceCount": count,
                            "InitialVariantWeight": "1.0",
                        }
                    ]
                },
            },
            "Endpoint": {
                "Type": "AWS::SageMaker::Endpoint",
                "Properties": {
                    "EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]},
                    "Tags": [{"Key": "team", "Value": "search"}],
                },
            },
        },
        "Outputs": {
            "Name": {"Value": {"Fn::GetAtt": ["Endpoint", "EndpointName"]}},
            "Arn": {"Value": {"Ref": "Endpoint"}},
            "Model": {"Value": {"Ref": "Model"}},
            "Config": {"Value": {"Ref": "Config"}},
        },
    }


class Stack:
    """One stack and its operations; each waits for the end."""

    def __init__(self, cloudformation, name: str, eventually) -> None:
        self.name = name
        self._cloudformation = cloudformation
        self._eventually = eventually

    def create(self, body: dict) -> str:
        self._cloudformation.create_stack(
            StackName=self.name, TemplateBody=json.dumps(body), Tags=[{"Key": "env", "Value": "test"}]
        )
        return self._settled()

    def update(self, body: dict) -> str:
        self._cloudformation.update_stack(
            StackName=self.name, TemplateBody=json.dumps(body), Tags=[{"Key": "env", "Value": "test"}]
        )
        return self._settled()

    def delete(self) -> None:
        self._cloudformation.delete_stack(StackName=self.name)
        self._eventually(lambda: self._status() in (None, "DELETE_COMPLETE"))

    def outputs(self) -> dict[str, str]:
        stack = self._cloudformation.describe_stacks(StackName=self.name)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}

    def reason(self, logical_id: str) -> str:
        """Why a resource failed."""
        events = self._cloudformation.describe_stack_events(StackName=self.name)["StackEvents"]
        return next(
            event["ResourceStatusReason"]
            for event in events
            if event["LogicalResourceId"] == logical_id and event["ResourceStatus"].endswith("_FAILED")
        )

    def _settled(self) -> str:
        def status() -> str | None:
            now = self._status()
            return None if now is None or now.endswith("_IN_PROGRESS") else now

        return self._eventually(status)

    def _status(self) -> str | None:
        try:
            return self._cloudformation.describe_stacks(StackName=self.name)["Stacks"][0]["StackStatus"]
        except self._cloudformation.exceptions.ClientError:
            return None


@pytest.fixture
def stack(workshop, unique, eventually):
    stack = Stack(workshop.client("cloudformation"), unique("stack"), eventually)
    yield stack
    stack.delete()


def names(workshop, operation: str, key: str) -> set[str]:
    kind = key.removesuffix("s")
    return {item[f"{kind}Name"] for item in getattr(workshop.client("sagemaker"), operation)()[key]}


def test_stack_is_complete_when_the_endpoint_serves(workshop, stack, stub_image, stub_archive):
    assert stack.create(template(stub_image, stub_archive, count="2", STUB_NAME="stack")) == "CREATE_COMPLETE"

    outputs = stack.outputs()
    assert workshop.invoke(outputs["Name"])["environment"]["STUB_NAME"] == "stack"
    described = workshop.client("sagemaker").describe_endpoint(EndpointName=outputs["Name"])
    assert described["ProductionVariants"][0]["CurrentInstanceCount"] == 2
    assert outputs["Arn"] == described["EndpointArn"]
    assert outputs["Arn"] == f"arn:aws:sagemaker:us-east-1:000000000000:endpoint/{outputs['Name'].lower()}"
    assert ":model/model-" in outputs["Model"]
    assert ":endpoint-config/config-" in outputs["Config"]
    tags = {
        tag["Key"]: tag["Value"] for tag in workshop.client("sagemaker").list_tags(ResourceArn=outputs["Arn"])["Tags"]
    }
    assert (tags["team"], tags["env"], tags["aws:cloudformation:stack-name"]) == ("search", "test", stack.name)


def test_update_replaces_model_and_config_under_the_same_endpoint(workshop, stack, stub_image, stub_archive):
    stack.create(template(stub_image, stub_archive, STUB_NAME="old"))
    before = stack.outputs()

    assert stack.update(template(stub_image, stub_archive, STUB_NAME="new")) == "UPDATE_COMPLETE"

    after = stack.outputs()
    assert after["Name"] == before["Name"]
    assert after["Model"] != before["Model"]
    assert workshop.invoke(after["Name"])["environment"]["STUB_NAME"] == "new"
    left = {
        f"arn:aws:sagemaker:us-east-1:000000000000:model/{n.lower()}" for n in names(workshop, "list_models", "Models")
    }
    assert after["Model"] in left
    assert before["Model"] not in left


def test_failing_update_rolls_back_and_the_old_model_serves_on(workshop, stack, stub_image, stub_archive):
    stack.create(template(stub_image, stub_archive, STUB_NAME="old"))
    before = stack.outputs()

    assert stack.update(template(stub_image, stub_archive, STUB_EXIT="no GGUF")) == "UPDATE_ROLLBACK_COMPLETE"

    assert "ended with status 1: no GGUF" in stack.reason("Endpoint")
    assert stack.outputs() == before
    assert workshop.invoke(before["Name"])["environment"]["STUB_NAME"] == "old"
    # And the stack can be updated again.
    assert stack.update(template(stub_image, stub_archive, STUB_NAME="fixed")) == "UPDATE_COMPLETE"
    assert workshop.invoke(before["Name"])["environment"]["STUB_NAME"] == "fixed"


def test_an_alarm_that_trips_while_an_update_bakes_rolls_the_stack_back(
    workshop, stack, stub_image, stub_archive, unique
):
    alarm = unique("alarm")
    routing = {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": "3600"}
    guarded = {
        "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": {"Ref": "Alarm"}}]},
        "BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing},
    }
    bodies = [template(stub_image, stub_archive, STUB_NAME=name) for name in ("old", "new")]
    for body in bodies:
        body["Resources"]["Endpoint"]["Properties"]["DeploymentConfig"] = guarded
        body["Resources"]["Alarm"] = {
            "Type": "AWS::CloudWatch::Alarm",
            "Properties": {
                "AlarmName": alarm,
                "Namespace": "AWS/SageMaker",
                "MetricName": "Invocation5XXErrors",
                "Statistic": "Average",
                "Period": 60,
                "EvaluationPeriods": 1,
                "Threshold": 0.2,
                "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            },
        }
    assert stack.create(bodies[0]) == "CREATE_COMPLETE"
    name = stack.outputs()["Name"]
    workshop.client("cloudwatch").set_alarm_state(AlarmName=alarm, StateValue="ALARM", StateReason="it fails")

    assert stack.update(bodies[1]) == "UPDATE_ROLLBACK_COMPLETE"

    assert f"alarm {alarm} (it fails) is in state ALARM (log of the new fleet: " in stack.reason("Endpoint")
    assert workshop.invoke(name)["environment"]["STUB_NAME"] == "old"


def test_failure_after_the_endpoints_update_brings_the_old_configuration_back(
    workshop, stack, stub_image, stub_archive
):
    stack.create(template(stub_image, stub_archive, STUB_NAME="old"))
    name = stack.outputs()["Name"]
    body = template(stub_image, stub_archive, STUB_NAME="new")
    body["Resources"]["Late"] = {
        "Type": "AWS::SageMaker::Model",
        "DependsOn": "Endpoint",
        "Properties": {"ExecutionRoleArn": "x"},
    }

    assert stack.update(body) == "UPDATE_ROLLBACK_COMPLETE"

    assert workshop.invoke(name)["environment"]["STUB_NAME"] == "old"


def test_failing_creation_leaves_nothing(workshop, stack, stub_image, stub_archive):
    before = [names(workshop, f"list_{key}", kind) for key, kind in (("models", "Models"), ("endpoints", "Endpoints"))]

    assert stack.create(template(stub_image, stub_archive, STUB_EXIT="no GGUF")) == "ROLLBACK_COMPLETE"

    assert "ended with status 1: no GGUF" in stack.reason("Endpoint")
    after = [names(workshop, f"list_{key}", kind) for key, kind in (("models", "Models"), ("endpoints", "Endpoints"))]
    assert after == before


def test_property_that_aws_does_not_know_fails_the_resource(stack, stub_image, stub_archive):
    body = template(stub_image, stub_archive)
    body["Resources"]["Config"]["Properties"]["ProductionVariant"] = []

    assert stack.create(body) == "ROLLBACK_COMPLETE"

    assert 'Unknown parameter in input: "ProductionVariant"' in stack.reason("Config")


def test_deleting_the_stack_ends_the_containers(stack, stub_image, stub_archive, unique, processes_with):
    mark = unique("mark")
    stack.create(template(stub_image, stub_archive, STUB_MARK=mark))
    assert processes_with(mark)

    stack.delete()

    assert not processes_with(mark)


def test_autoscaling_is_registered_and_goes_with_the_stack(workshop, stack, stub_image, stub_archive):
    body = template(stub_image, stub_archive)
    body["Resources"]["Target"] = {
        "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
        "Properties": {
            "MaxCapacity": "3",
            "MinCapacity": "1",
            "ResourceId": {"Fn::Sub": "endpoint/${Endpoint.EndpointName}/variant/primary"},
            "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
            "ServiceNamespace": "sagemaker",
        },
    }
    body["Resources"]["Policy"] = {
        "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
        "Properties": {
            "PolicyName": "concurrency",
            "PolicyType": "TargetTrackingScaling",
            "ScalingTargetId": {"Ref": "Target"},
            "TargetTrackingScalingPolicyConfiguration": {
                "TargetValue": 2,
                "PredefinedMetricSpecification": {
                    "PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"
                },
            },
        },
    }
    scaling = workshop.client("application-autoscaling")

    assert stack.create(body) == "CREATE_COMPLETE"
    resource = f"endpoint/{stack.outputs()['Name']}/variant/primary"
    [target] = scaling.describe_scalable_targets(ServiceNamespace="sagemaker", ResourceIds=[resource])[
        "ScalableTargets"
    ]
    [policy] = scaling.describe_scaling_policies(ServiceNamespace="sagemaker", ResourceId=resource)["ScalingPolicies"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 3)
    assert policy["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] == 2.0

    body["Resources"]["Policy"]["Properties"]["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] = 4
    assert stack.update(body) == "UPDATE_COMPLETE"
    [policy] = scaling.describe_scaling_policies(ServiceNamespace="sagemaker", ResourceId=resource)["ScalingPolicies"]
    assert policy["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] == 4.0

    stack.delete()
    assert (
        scaling.describe_scalable_targets(ServiceNamespace="sagemaker", ResourceIds=[resource])["ScalableTargets"] == []
    )


def test_custom_resource_runs_its_function_in_this_python(workshop, stack):
    body = {
        "Resources": {
            "Function": {
                "Type": "AWS::Lambda::Function",
                "Properties": {
                    "Code": {"ZipFile": LAMBDA},
                    "Handler": "index.handler",
                    "Role": "arn:aws:iam::000000000000:role/function",
                    "Runtime": "python3.12",
                    "Timeout": 30,
                },
            },
            "Custom": {
                "Type": "Custom::Answer",
                "Properties": {"ServiceToken": {"Fn::GetAtt": ["Function", "Arn"]}},
            },
        },
        "Outputs": {"Answer": {"Value": {"Fn::GetAtt": ["Custom", "Answer"]}}},
    }

    assert stack.create(body) == "CREATE_COMPLETE"

    assert stack.outputs() == {"Answer": "from python"}


def test_ssm_parameters_are_read_anew_when_only_they_changed(workshop, stack, unique):
    ssm, name = workshop.client("ssm"), f"/{unique('parameter')}"
    body = {
        "Parameters": {"Name": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": name}},
        "Resources": {
            "Copy": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Ref": "Name"}}}
        },
        "Outputs": {"Copy": {"Value": {"Fn::GetAtt": ["Copy", "Value"]}}},
    }
    ssm.put_parameter(Name=name, Value="first", Type="String")
    stack.create(body)
    assert stack.outputs() == {"Copy": "first"}

    ssm.put_parameter(Name=name, Value="second", Type="String", Overwrite=True)
    assert stack.update(body) == "UPDATE_COMPLETE"

    assert stack.outputs() == {"Copy": "second"}
