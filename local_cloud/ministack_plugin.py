"""Where MiniStack is touched: services and CloudFormation types it lacks are put into its tables.

These are internals of the pinned version. Nothing else in this package imports MiniStack, so this file is what to read
again when the pin moves. Each entry below is a table or a function that MiniStack looks up when it needs it:

    router.SERVICE_PATTERNS                  which service a request is for
    app.SERVICE_HANDLERS                     who answers it
    provisioners._RESOURCE_HANDLERS          CloudFormation resource types
    provisioners._STACK_TAG_PROPERTY         which property takes a stack's tags
    stacks._runs_on_worker_thread            which types may block while they are provisioned
    s3._bucket_tags                          tags of a bucket, which its CloudFormation type forgets to set; CDK's
                                             auto_delete_objects deletes nothing from a bucket without its tag
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from ministack import app  # type: ignore[import-untyped]
from ministack.core import router  # type: ignore[import-untyped]
from ministack.core.concurrency import run_reentrant  # type: ignore[import-untyped]
from ministack.core.responses import StreamingResponse  # type: ignore[import-untyped]
from ministack.services import s3  # type: ignore[import-untyped]
from ministack.services.cloudformation import provisioners, stacks  # type: ignore[import-untyped]

from local_cloud import codebuild, invocation
from local_cloud.cloudformation_resources import ResourceHandler, resource_handlers
from local_cloud.errors import ApiError, ImageNotFoundError
from local_cloud.invocation import Invoker
from local_cloud.json_api import JsonApi, Response, error_response, operation_of
from local_cloud.services import Services

asgi_application = app.app
Handler = Callable[[str, str, Mapping[str, str], bytes, Mapping[str, Any]], Awaitable[Any]]


def install(services: Services) -> None:
    """Put the services into MiniStack; before the first request."""
    _add_service("sagemaker", "SageMaker.", _sagemaker(services))
    _add_service("application-autoscaling", "AnyScaleFrontendService.", _json_handler(services.scaling.api))
    app.SERVICE_HANDLERS["ecr"] = _ecr(app.SERVICE_HANDLERS["ecr"])
    app.SERVICE_HANDLERS["codebuild"] = _codebuild(services.codebuild.api, app.SERVICE_HANDLERS["codebuild"])
    handlers = resource_handlers(services.sagemaker, services.scaling)
    for resource_type, handler in handlers.items():
        provisioners._RESOURCE_HANDLERS[resource_type] = _provisioner(handler)
        if resource_type.startswith("AWS::SageMaker::"):
            provisioners._STACK_TAG_PROPERTY[resource_type] = ("Tags", "list")
    _tag_buckets(provisioners._RESOURCE_HANDLERS["AWS::S3::Bucket"])
    blocks = stacks._runs_on_worker_thread
    stacks._runs_on_worker_thread = lambda resource_type: resource_type in handlers or blocks(resource_type)


def _tag_buckets(handler: dict[str, Any]) -> None:
    create, update = handler["create"], handler["update"]

    def tagged(provisioned: tuple[str, Any], properties: Mapping[str, Any]) -> tuple[str, Any]:
        s3._bucket_tags[provisioned[0]] = {tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])}
        return provisioned

    handler["create"] = lambda logical_id, new, stack: tagged(create(logical_id, new, stack), new)
    handler["update"] = lambda physical_id, old, new, stack: tagged(update(physical_id, old, new, stack), new)


def _add_service(name: str, target_prefix: str, handler: Handler) -> None:
    router.SERVICE_PATTERNS[name] = {"target_prefixes": [target_prefix], "host_patterns": [], "credential_scope": name}
    app.SERVICE_HANDLERS[name] = handler


def _json_handler(api: JsonApi) -> Handler:
    async def handle(
        method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]
    ) -> Response:
        # On a thread of its own: an operation may call the cloud, which this very event loop answers.
        response: Response = await run_reentrant(api.handle, headers, body)
        return response

    return handle


def _sagemaker(services: Services) -> Handler:
    control_plane = _json_handler(services.sagemaker.api)

    async def handle(method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]) -> Any:
        # The runtime signs with the same service name as the control plane; the path tells them apart.
        if invocation.is_invocation(path):
            return await _invoke(services.runtime, path, headers, body)
        return await control_plane(method, path, headers, body, query)

    return handle


async def _invoke(runtime: Invoker, path: str, headers: Mapping[str, str], body: bytes) -> Any:
    try:
        answer = await runtime.invoke(path, headers, body)
    except ApiError as error:
        return error_response(error)
    if answer.chunks is None:
        return 200, answer.headers, answer.body
    stream = StreamingResponse(_runner(invocation.event_stream_chunks(answer.chunks)))
    return 200, invocation.event_stream_headers(answer), stream


def _runner(chunks: AsyncIterator[bytes]) -> Callable[[Any, Any], Awaitable[None]]:
    async def run(send: Any, receive: Any) -> None:
        async for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return run


def _codebuild(builds: JsonApi, projects: Handler) -> Handler:
    run = _json_handler(builds)

    async def handle(method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]) -> Any:
        ours = operation_of(headers) in codebuild.OPERATIONS
        return await (run if ours else projects)(method, path, headers, body, query)

    return handle


def _ecr(repositories: Handler) -> Handler:
    async def handle(method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]) -> Any:
        status, answer_headers, answer = await repositories(method, path, headers, body, query)
        # ECR refuses to describe an image that is not there; MiniStack leaves it out.
        if operation_of(headers) == "DescribeImages" and status == HTTPStatus.OK:
            asked = json.loads(body).get("imageIds") or []
            if len(json.loads(answer)["imageDetails"]) < len(asked):
                return error_response(ImageNotFoundError(f"not every image of {asked} exists in the repository"))
        return status, answer_headers, answer

    return handle


def _provisioner(handler: ResourceHandler) -> dict[str, Any]:
    return {
        "create": lambda logical_id, properties, stack_name: handler.create(logical_id, properties),
        "update": lambda physical_id, old, new, stack_name, logical_id: handler.update(
            physical_id, logical_id, old, new
        ),
        "update_with_logical_id": True,
        "delete": handler.delete,
    }
