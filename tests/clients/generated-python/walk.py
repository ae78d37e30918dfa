"""Declares a cluster, waits until it is ready, and deletes it, with a client generated from the OpenAPI document."""

import json
import os
import time

from cluster_client import Client
from cluster_client.api.clusters import delete_cluster, get_cluster, put_cluster
from cluster_client.api.operations import get_operation
from cluster_client.models import (
    Cluster,
    ClusterAccepted,
    ClusterDeclaration,
    ClusterSpecInput,
    NodePoolSpecInput,
    Operation,
    OperationState,
    Problem,
)

TEAM = os.environ["CORRAL_TEAM"]
NAME = os.environ["CORRAL_CLUSTER"]
ENDED = (OperationState.SUCCEEDED, OperationState.FAILED, OperationState.SUPERSEDED, OperationState.CANCELLED)
client = Client(base_url=os.environ["CORRAL_CLUSTERS"], cookies={"sessionid": os.environ["CORRAL_SESSION"]})


def say(step: str, **facts: object) -> None:
    print(json.dumps({"step": step, **facts}))


def ended(operation: Operation) -> Operation:
    while operation.state not in ENDED:
        time.sleep(0.1)
        seen = get_operation.sync(TEAM, operation.id, client=client)
        assert isinstance(seen, Operation), seen
        operation = seen
    return operation


pools = [NodePoolSpecInput(name="general", machine_type="cpx31", minimum=1, maximum=1)]
spec = ClusterSpecInput(
    connection_ref=os.environ["CORRAL_CONNECTION"],
    region=os.environ["CORRAL_REGION"],
    kubernetes_version="1.34",
    node_pools=pools,
)
accepted = put_cluster.sync(TEAM, NAME, client=client, body=ClusterDeclaration(spec=spec))
assert isinstance(accepted, ClusterAccepted), accepted
say("accepted", type=type(accepted.resource).__name__, createdAt=accepted.resource.metadata.created_at.isoformat())
say("created", state=ended(accepted.operation).state)

read = get_cluster.sync(TEAM, NAME, client=client)
assert isinstance(read, Cluster) and type(read) is type(accepted.resource), read
say("read", phase=read.status.phase, pools=[pool.name for pool in read.spec.node_pools])

back = put_cluster.sync(TEAM, NAME, client=client, body=ClusterDeclaration.from_dict(read.to_dict()))
assert isinstance(back, Cluster), back
say("sentBack", generation=back.metadata.generation)

deleted = delete_cluster.sync(TEAM, NAME, client=client)
assert isinstance(deleted, ClusterAccepted), deleted
say("deleted", state=ended(deleted.operation).state)

missing = get_cluster.sync(TEAM, NAME, client=client)
assert isinstance(missing, Problem), missing
say("missing", code=missing.code)
