import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const inventoryErrors = {
  AKP_GPU_REGISTRY_UNREADABLE: {
    message: "the GPU registry at {location} cannot be read: {reason}",
    advice: "The last good one stays in use and it is tried again. Correct the address or the file if this lasts.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_GPU_REGISTRY_MALFORMED: {
    message: "{from} is no GPU registry: {reason}",
    advice:
      "The last good one stays in use. Its form is that of devices/pcie/gpus.json in the network's provider-configs.",
    ...statuses(502, "INVALID_ARGUMENT"),
  },
  AKP_DISCOVERY_LATE: {
    message: "the hardware of the node could not be read within {limitMs} ms",
    advice:
      "A device or its driver hangs. Look at the kernel's log on that node; it is read again at the next request.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_DISCOVERY_MALFORMED: {
    message: "the discovery pod of node {node} answers what makes no sense: {reason}",
    advice: "The last good answer stays in use and it is asked again. Look at the log of that pod if this lasts.",
    ...statuses(502, "UNAVAILABLE"),
  },
  AKP_INVENTORY_CONFIG_REFUSED: {
    message: "the inventory configuration {source} is refused: {reason}",
    advice: "Correct what it names. A file is read again by itself, and the last good configuration stays in force.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_CEPH_UNREADABLE: {
    message: "Ceph in {namespace} does not tell how full it is: {reason}",
    advice:
      "Check that the toolbox runs (a pod with the label app=rook-ceph-tools) and that `ceph df` works in it. It is asked again.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_INVENTORY_NOT_READY: {
    message: "there is no whole picture of the cluster yet; it waits for {what}",
    advice: "Ask again in a moment. If this lasts, see what the operator's log says about that.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_INVENTORY_NODE_UNKNOWN: {
    message: "no node {node} is offered: {reason}",
    advice: "Name one that is, with the metadata `node`; QueryCluster has them all.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_OPERATOR_NOT_FOUND: {
    message: "the {operator} was not found: {reason}",
    advice: "Install it, or say with {setting} where it answers. It is looked for again by itself.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_HTTP_PATH_UNKNOWN: {
    message: "there is nothing at {path}",
    advice: "Here are {paths}.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_HTTP_METHOD_REFUSED: {
    message: "{method} is not answered at {path}",
    advice: "Use GET.",
    ...statuses(405, "INVALID_ARGUMENT"),
  },
  AKP_HTTP_ANSWER_LATE: {
    message: "{path} could not be answered within {limitMs} ms",
    advice: "Ask again. If this lasts, the process is short of cpu; --api-timeout gives it more time.",
    ...statuses(503, "UNAVAILABLE"),
  },
} as const satisfies Errors;
