import { type Errors, exitCodes } from "./entry.ts";

const { failure, settings } = exitCodes;

export const inventoryErrors = {
  AKP_GPU_REGISTRY_UNREADABLE: {
    message: "the GPU registry at {location} cannot be read: {reason}",
    advice: "The last good one stays in use and it is tried again. Correct the address or the file if this lasts.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_GPU_REGISTRY_MALFORMED: {
    message: "{from} is no GPU registry: {reason}",
    advice:
      "The last good one stays in use. Its form is that of devices/pcie/gpus.json in the network's provider-configs.",
    http: 502,
    grpc: "INVALID_ARGUMENT",
    exit: failure,
  },
  AKP_DISCOVERY_LATE: {
    message: "the hardware of the node could not be read within {limitMs} ms",
    advice:
      "A device or its driver hangs. Look at the kernel's log on that node; it is read again at the next request.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_DISCOVERY_MALFORMED: {
    message: "the discovery pod of node {node} answers what makes no sense: {reason}",
    advice: "The last good answer stays in use and it is asked again. Look at the log of that pod if this lasts.",
    http: 502,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_INVENTORY_CONFIG_REFUSED: {
    message: "the inventory configuration {source} is refused: {reason}",
    advice: "Correct what it names. A file is read again by itself, and the last good configuration stays in force.",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },
  AKP_INVENTORY_CONFIG_UNREADABLE: {
    message: "the inventory configuration {path} cannot be read: {reason}",
    advice: "Check the path, and that the ConfigMap is mounted there. It is looked at again by itself.",
    http: 503,
    grpc: "FAILED_PRECONDITION",
    exit: failure,
  },
  AKP_CEPH_UNREADABLE: {
    message: "Ceph in {namespace} does not tell how full it is: {reason}",
    advice:
      "Check that the toolbox runs (a pod with the label app=rook-ceph-tools) and that `ceph df` works in it. It is asked again.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_INVENTORY_NOT_READY: {
    message: "there is no whole picture of the cluster yet; it waits for {what}",
    advice: "Ask again in a moment. If this lasts, see what the operator's log says about that.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_INVENTORY_NODE_UNKNOWN: {
    message: "no node {node} is offered: {reason}",
    advice: "Name one that is, with the metadata `node`; QueryCluster has them all.",
    http: 404,
    grpc: "NOT_FOUND",
    exit: failure,
  },
  AKP_HTTP_PATH_UNKNOWN: {
    message: "there is nothing at {path}",
    advice: "Here are {paths}.",
    http: 404,
    grpc: "NOT_FOUND",
    exit: failure,
  },
  AKP_HTTP_METHOD_REFUSED: {
    message: "{method} is not answered at {path}",
    advice: "Use GET.",
    http: 405,
    grpc: "INVALID_ARGUMENT",
    exit: failure,
  },
  AKP_HTTP_ANSWER_LATE: {
    message: "{path} could not be answered within {limitMs} ms",
    advice: "Ask again. If this lasts, the process is short of cpu; --api-timeout gives it more time.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
} as const satisfies Errors;
