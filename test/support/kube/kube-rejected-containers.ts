/** Containers that the API server rejects, and what it says: what is put into one that is well, and where in it. */
import type { Row } from "./kube-rejected-rows.ts";

export const containers: readonly Row[] = [
  ["a hook that does nothing", { lifecycle: { preStop: {} } }, "lifecycle.preStop Required"],
  [
    "a probe of readiness that would kill",
    { readinessProbe: { tcpSocket: { port: 80 }, terminationGracePeriodSeconds: 3 } },
    "readinessProbe.terminationGracePeriodSeconds Invalid",
  ],
  ["variables from nowhere", { envFrom: [{}] }, "envFrom Invalid"],
  ["more than etcd takes", { env: [{ name: "A", value: "x".repeat(1_600_000) }] }, "500"],
  [
    "more than the API server reads",
    { env: [{ name: "A", value: "x".repeat(4_000_000) }] },
    "413 RequestEntityTooLarge",
  ],
  ["a container with a bad name", { name: "Bad_Name" }, "name Invalid"],
  ["a container without a name", { name: "" }, "name Required"],
  ["a container without an image", { image: "" }, "image Required"],
  ["a policy of pulls that is unknown", { imagePullPolicy: "Sometimes" }, "imagePullPolicy NotSupported"],
  ["a variable with a bad name", { env: [{ name: "A=B", value: "1" }] }, "env[0].name Invalid"],
  ["a variable without a name", { env: [{ value: "1" }] }, "env[0].name Required"],
  [
    "a variable of two sources",
    {
      env: [
        { name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" }, secretKeyRef: { name: "a", key: "b" } } },
      ],
    },
    "env[0].valueFrom Invalid",
  ],
  [
    "a variable with a value and a source",
    { env: [{ name: "A", value: "1", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] },
    "env[0].valueFrom Invalid",
  ],
  [
    "a variable from a field that there is not",
    { env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.color" } } }] },
    "env[0].valueFrom.fieldRef.fieldPath Invalid",
  ],
  [
    "a variable from a secret without a key",
    { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "a" } } }] },
    "env[0].valueFrom.secretKeyRef.key Required",
  ],
  [
    "the same variable twice, applied",
    {
      env: [
        { name: "A", value: "1" },
        { name: "A", value: "2" },
      ],
    },
    "500",
    { by: "apply" },
  ],
  ["a port beyond 65535", { ports: [{ containerPort: 70_000 }] }, "ports[0].containerPort Invalid"],
  ["a port of 0", { ports: [{ containerPort: 0 }] }, "ports[0].containerPort Required"],
  [
    "a port of a protocol that is unknown",
    { ports: [{ containerPort: 80, protocol: "HTTP" }] },
    "ports[0].protocol NotSupported",
  ],
  ["a port with a bad name", { ports: [{ containerPort: 80, name: "Web_Port" }] }, "ports[0].name Invalid"],
  [
    "a port with a name that is too long",
    { ports: [{ containerPort: 80, name: "a-name-far-too-long" }] },
    "ports[0].name Invalid",
  ],
  [
    "two ports of one name",
    {
      ports: [
        { containerPort: 80, name: "http" },
        { containerPort: 81, name: "http" },
      ],
    },
    "ports[1].name Duplicate",
  ],
  [
    "a port of the host beyond 65535",
    { ports: [{ containerPort: 80, hostPort: 70_000 }] },
    "ports[0].hostPort Invalid",
  ],
  ["the same port twice, applied", { ports: [{ containerPort: 80 }, { containerPort: 80 }] }, "500", { by: "apply" }],
  [
    "a request above its limit",
    { resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } },
    "resources.requests Invalid",
  ],
  [
    "a gpu requested without a limit",
    { resources: { requests: { "nvidia.com/gpu": "1" } } },
    "resources.limits Required",
  ],
  [
    "fewer gpus requested than the limit",
    { resources: { requests: { "nvidia.com/gpu": "1" }, limits: { "nvidia.com/gpu": "2" } } },
    "resources.requests Invalid",
  ],
  ["half a gpu", { resources: { limits: { "nvidia.com/gpu": "500m" } } }, "resources.limits[nvidia.com/gpu] Invalid"],
  ["a negative amount", { resources: { limits: { memory: "-1" } } }, "resources.limits[memory] Invalid"],
  ["an amount that is none", { resources: { limits: { memory: "much" } } }, "400 BadRequest"],
  [
    "a resource that there is not",
    { resources: { limits: { speed: "1" } } },
    "resources.limits[speed] Invalid, resources.limits[speed] Invalid",
  ],
  [
    "a resource with a bad name",
    { resources: { limits: { "a b": "1" } } },
    "resources.limits[a b] Invalid, resources.limits[a b] Invalid",
  ],
  [
    "a mount without its volume",
    { volumeMounts: [{ name: "nope", mountPath: "/x" }] },
    "volumeMounts[0].name NotFound",
  ],
  ["a probe without anything to try", { livenessProbe: { periodSeconds: 1 } }, "livenessProbe Required"],
  [
    "a probe of two things",
    { livenessProbe: { tcpSocket: { port: 80 }, httpGet: { port: 80 } } },
    "livenessProbe.tcpSocket Forbidden",
  ],
  [
    "a probe of a port beyond 65535",
    { livenessProbe: { tcpSocket: { port: 70_000 } } },
    "livenessProbe.tcpSocket.port Invalid",
  ],
  [
    "a probe of a port with a bad name",
    { livenessProbe: { tcpSocket: { port: "no such port" } } },
    "livenessProbe.tcpSocket.port Invalid",
  ],
  [
    "a probe of a scheme that is unknown",
    { livenessProbe: { httpGet: { port: 80, scheme: "FTP" } } },
    "livenessProbe.httpGet.scheme NotSupported",
  ],
  [
    "a probe of negative times",
    { livenessProbe: { tcpSocket: { port: 80 }, periodSeconds: -1, failureThreshold: -1 } },
    "livenessProbe.periodSeconds Invalid, livenessProbe.failureThreshold Invalid",
  ],
  [
    "a probe that must succeed twice",
    { livenessProbe: { tcpSocket: { port: 80 }, successThreshold: 2 } },
    "livenessProbe.successThreshold Invalid",
  ],
  [
    "a command of a probe without words",
    { livenessProbe: { exec: { command: [] } } },
    "livenessProbe.exec.command Required",
  ],
  [
    "a header with a bad name",
    { livenessProbe: { httpGet: { port: 80, httpHeaders: [{ name: "a b", value: "c" }] } } },
    "livenessProbe.httpGet.httpHeaders Invalid",
  ],
  ["a user below 0", { securityContext: { runAsUser: -1 } }, "securityContext.runAsUser Invalid"],
  [
    "a kind of seccomp profile that is unknown",
    { securityContext: { seccompProfile: { type: "Some" } } },
    "securityContext.seccompProfile.type NotSupported",
  ],
  ["a message policy that is unknown", { terminationMessagePolicy: "Shout" }, "terminationMessagePolicy NotSupported"],
  ["a field that there is not, applied", { colour: "red" }, "500", { by: "apply" }],
];
