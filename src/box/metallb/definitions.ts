/** The definitions of MetalLB's custom resources that its allocator reads, as far as it does. */
import { kinds } from "../../kube/kinds.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { customDefinition } from "../cluster/custom-definition.ts";

const texts = { type: "array", items: { type: "string" } };
const counts = ["assignedIPv4", "assignedIPv6", "availableIPv4", "availableIPv6"];

const pool = {
  spec: {
    type: "object",
    required: ["addresses"],
    properties: {
      addresses: texts,
      autoAssign: { type: "boolean", default: true },
      avoidBuggyIPs: { type: "boolean", default: false },
      serviceAllocation: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
  },
  status: {
    type: "object",
    properties: Object.fromEntries(counts.map((name) => [name, { type: "integer", format: "int64" }])),
  },
};

const advertisement = {
  spec: {
    type: "object",
    properties: { ipAddressPools: texts, interfaces: texts },
    "x-kubernetes-preserve-unknown-fields": true,
  },
  status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
};

/** Of another version only where a test plays another MetalLB. */
export function metalLbDefinitions(version = "v1beta1"): KubeObject[] {
  return [
    customDefinition({ ...kinds.ipAddressPool, version }, pool),
    customDefinition({ ...kinds.l2Advertisement, version }, advertisement),
  ];
}
