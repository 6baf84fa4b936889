"""The laptop's AWS: MiniStack with SageMaker, Application Auto Scaling and CodeBuild plugged in.

Containers and builds are processes of this machine; nothing needs Docker, an account or a network.
"""

from local_cloud.cloud import Cloud, client_environment, client_settings, discover, start, stop
from local_cloud.errors import AlreadyRunningError, LocalCloudError, StartError

__all__ = [
    "AlreadyRunningError",
    "Cloud",
    "LocalCloudError",
    "StartError",
    "client_environment",
    "client_settings",
    "discover",
    "start",
    "stop",
]
