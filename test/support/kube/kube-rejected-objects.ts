/**
 * Objects that the API server rejects, and what it says: what a tenant's wishes or a mistake of ours could come to. What
 * it says was read off a real one; kube-rejection.contract.ts holds every server to it.
 */
import { kinds } from "../../../src/kube/kinds.ts";
import { rejectedPods } from "./kube-rejected-pods.ts";
import { claimOf, type Fields, labels, meta, type RejectedObject, type Row, rejectedOf } from "./kube-rejected-rows.ts";

const serviceOf = (spec: Fields, name = "it"): Fields => ({ metadata: { name }, spec: { selector: labels, ...spec } });

const twoPorts = (...ports: [Fields, Fields]) => serviceOf({ ports });

const ingressOf = (rule: Fields, path: Fields = {}, spec: Fields = {}): Fields => {
  const backend = { service: { name: "web", port: { number: 80 } } };
  const http = { paths: [{ path: "/", pathType: "Prefix", backend, ...path }] };
  return { metadata: meta(), spec: { rules: [{ host: "web.example.com", http, ...rule }], ...spec } };
};

const policyOf = (spec: Fields): Fields => ({ metadata: meta(), spec: { podSelector: {}, ...spec } });

const long = (characters: number) => "x".repeat(characters);

const metadata: readonly Row[] = [
  ["a name with capitals", { metadata: { name: "Bad_Name" } }, "metadata.name Invalid"],
  ["a name that is too long", { metadata: { name: long(254) } }, "metadata.name Invalid"],
  ["a label with a bad name", { metadata: meta({ labels: { "-a": "b" } }) }, "metadata.labels Invalid"],
  ["a label with a bad value", { metadata: meta({ labels: { a: "-b" } }) }, "metadata.labels Invalid"],
  [
    "a label with a prefix that is no domain",
    { metadata: meta({ labels: { "UP_/a": "b" } }) },
    "metadata.labels Invalid",
  ],
  ["a label that is too long", { metadata: meta({ labels: { a: long(64) } }) }, "metadata.labels Invalid"],
  [
    "an annotation with a bad name",
    { metadata: meta({ annotations: { "a b": "c" } }) },
    "metadata.annotations Invalid",
  ],
  [
    "annotations beyond 256 KiB",
    { metadata: meta({ annotations: { a: long(300_000) } }) },
    "metadata.annotations TooLong",
  ],
  [
    "a finalizer that is no name",
    { metadata: meta({ finalizers: ["not a name"] }) },
    "metadata.finalizers Invalid, metadata.finalizers[0] Invalid",
  ],
  [
    "an owner without a uid",
    { metadata: meta({ ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "a" }] }) },
    "metadata.ownerReferences.uid Invalid",
  ],
  ["data of more than 1 MiB", { metadata: meta(), data: { a: long(1_048_577) } }, "[] TooLong"],
  ["a key that is no file name", { metadata: meta(), data: { "a/b": "c" } }, "data[a/b] Invalid"],
  [
    "a key of both text and bytes",
    { metadata: meta(), data: { a: "c" }, binaryData: { a: "Yw==" } },
    "data[a] Invalid",
  ],
  [
    "a change of what is immutable",
    { metadata: meta(), data: { a: "2" } },
    "immutable Forbidden, data Forbidden",
    { after: { metadata: meta(), data: { a: "1" }, immutable: true } },
  ],
  ["a value that is no text", { metadata: meta(), data: { a: 1 } }, "400 BadRequest"],
];

const secrets: readonly Row[] = [
  ["data that is no base64", { metadata: meta(), data: { a: "%%%" } }, "400 BadRequest"],
  ["a key that is no file name", { metadata: meta(), stringData: { "a b": "c" } }, "data[a b] Invalid"],
  ["more than 1 MiB", { metadata: meta(), stringData: { a: long(1_048_577) } }, "data TooLong"],
  [
    "registry credentials without any",
    { metadata: meta(), type: "kubernetes.io/dockerconfigjson" },
    "data[.dockerconfigjson] Required",
  ],
  [
    "registry credentials that are no JSON",
    { metadata: meta(), type: "kubernetes.io/dockerconfigjson", stringData: { ".dockerconfigjson": "{" } },
    "data[.dockerconfigjson] Invalid",
  ],
  [
    "a certificate without its key",
    { metadata: meta(), type: "kubernetes.io/tls", stringData: { "tls.crt": "" } },
    "data[tls.key] Required",
  ],
  [
    "another type than before",
    { metadata: meta(), type: "example.com/other" },
    "type Invalid",
    { after: { metadata: meta(), stringData: { a: "b" } } },
  ],
];

const namespaces: readonly Row[] = [
  ["a name with a dot", { metadata: { name: "a.b" } }, "metadata.name Invalid"],
  ["a name that is too long", { metadata: { name: long(64) } }, "metadata.name Invalid, metadata.labels Invalid"],
];

const services: readonly Row[] = [
  ["no ports", serviceOf({}), "spec.ports Required"],
  [
    "a node port that another one has",
    serviceOf({ type: "NodePort", ports: [{ port: 80, nodePort: 30_099 }] }, "other"),
    "spec.ports[0].nodePort Invalid",
    { after: serviceOf({ type: "NodePort", ports: [{ port: 80, nodePort: 30_099 }] }) },
  ],
  ["no name elsewhere", serviceOf({ type: "ExternalName" }), "spec.externalName Required"],
  [
    "an address of others that is none",
    serviceOf({ externalIPs: ["x"], ports: [{ port: 80 }] }),
    "spec.externalIPs[0] Invalid",
  ],
  ["a name that is too long", serviceOf({ ports: [{ port: 80 }] }, long(64)), "metadata.name Invalid"],
  [
    "two ports without names",
    serviceOf({ ports: [{ port: 80 }, { port: 81 }] }),
    "spec.ports[0].name Required, spec.ports[1].name Required",
  ],
  ["two ports of one name", twoPorts({ port: 80, name: "a" }, { port: 81, name: "a" }), "spec.ports[1].name Duplicate"],
  ["a port twice", twoPorts({ port: 80, name: "a" }, { port: 80, name: "b" }), "spec.ports[1] Duplicate"],
  ["a port twice, applied", twoPorts({ port: 80, name: "a" }, { port: 80, name: "b" }), "500", { by: "apply" }],
  [
    "a port beyond 65535",
    serviceOf({ ports: [{ port: 70_000 }] }),
    "spec.ports[0].port Invalid, spec.ports[0].targetPort Invalid",
  ],
  ["a port of 0", serviceOf({ ports: [{ port: 0 }] }), "spec.ports[0].port Invalid, spec.ports[0].targetPort Invalid"],
  [
    "a target port beyond 65535",
    serviceOf({ ports: [{ port: 80, targetPort: 70_000 }] }),
    "spec.ports[0].targetPort Invalid",
  ],
  [
    "a target port with a bad name",
    serviceOf({ ports: [{ port: 80, targetPort: "Not_A_Port" }] }),
    "spec.ports[0].targetPort Invalid",
  ],
  ["a port with a bad name", serviceOf({ ports: [{ port: 80, name: "A_b" }] }), "spec.ports[0].name Invalid"],
  [
    "a protocol that is unknown",
    serviceOf({ ports: [{ port: 80, protocol: "HTTP" }] }),
    "spec.ports[0].protocol NotSupported",
  ],
  ["a type that is unknown", serviceOf({ type: "Magic", ports: [{ port: 80 }] }), "spec.type NotSupported"],
  [
    "a node port out of range",
    serviceOf({ type: "NodePort", ports: [{ port: 80, nodePort: 80 }] }),
    "spec.ports[0].nodePort Invalid",
  ],
  [
    "a node port of one that has none",
    serviceOf({ ports: [{ port: 80, nodePort: 30_081 }] }),
    "spec.ports[0].nodePort Forbidden",
  ],
  ["a name that begins with a digit", serviceOf({ ports: [{ port: 80 }] }, "1a"), "metadata.name Invalid"],
  [
    "a name elsewhere that is none",
    serviceOf({ type: "ExternalName", externalName: "not a name" }),
    "spec.externalName Invalid",
  ],
  [
    "another address than before",
    serviceOf({ clusterIP: "10.96.200.200", ports: [{ port: 80 }] }),
    "spec.clusterIPs[0] Invalid",
    { after: serviceOf({ ports: [{ port: 80 }] }) },
  ],
  ["an address that is none", serviceOf({ clusterIP: "no", ports: [{ port: 80 }] }), "spec.clusterIPs[0] Invalid"],
  ["a selector with a bad value", serviceOf({ selector: { a: "-b" }, ports: [{ port: 80 }] }), "spec.selector Invalid"],
  [
    "an affinity of sessions that is unknown",
    serviceOf({ sessionAffinity: "Always", ports: [{ port: 80 }] }),
    "spec.sessionAffinity NotSupported",
  ],
];

const ingresses: readonly Row[] = [
  ["a host that is no name", ingressOf({ host: "UPPER_case.." }), "spec.rules[0].host Invalid"],
  ["a host that is an address", ingressOf({ host: "10.0.0.1" }), "spec.rules[0].host Invalid"],
  ["a host with a star in the middle", ingressOf({ host: "a.*.example.com" }), "spec.rules[0].host Invalid"],
  ["a path without a type", ingressOf({}, { pathType: undefined }), "spec.rules[0].http.paths[0].pathType Required"],
  [
    "a type of path that is unknown",
    ingressOf({}, { pathType: "Suffix" }),
    "spec.rules[0].http.paths[0].pathType NotSupported",
  ],
  ["a path without a slash before it", ingressOf({}, { path: "noslash" }), "spec.rules[0].http.paths[0].path Invalid"],
  ["a path with two slashes", ingressOf({}, { path: "/a//b" }), "spec.rules[0].http.paths[0].path Invalid"],
  [
    "no path, exactly",
    ingressOf({}, { path: undefined, pathType: "Exact" }),
    "spec.rules[0].http.paths[0].path Invalid",
  ],
  [
    "two backends at once",
    ingressOf({}, { backend: { resource: { kind: "A", name: "b" }, service: { name: "a", port: { number: 80 } } } }),
    "spec.rules[0].http.paths[0].backend Invalid",
  ],
  [
    "a port with a bad name",
    ingressOf({}, { backend: { service: { name: "a", port: { name: "A_b" } } } }),
    "spec.rules[0].http.paths[0].backend.service.port.name Invalid",
  ],
  ["no paths", ingressOf({ http: { paths: [] } }), "spec.rules[0].http.paths Required"],
  ["no backend", ingressOf({}, { backend: {} }), "spec.rules[0].http.paths[0].backend Invalid"],
  [
    "a service with a bad name",
    ingressOf({}, { backend: { service: { name: "A_b", port: { number: 80 } } } }),
    "spec.rules[0].http.paths[0].backend.service.name Invalid",
  ],
  [
    "a service without a port",
    ingressOf({}, { backend: { service: { name: "web" } } }),
    "spec.rules[0].http.paths[0].backend Required",
  ],
  [
    "a port with a number and a name",
    ingressOf({}, { backend: { service: { name: "web", port: { number: 80, name: "http" } } } }),
    "spec.rules[0].http.paths[0].backend Invalid",
  ],
  [
    "a port beyond 65535",
    ingressOf({}, { backend: { service: { name: "web", port: { number: 70_000 } } } }),
    "spec.rules[0].http.paths[0].backend.service.port.number Invalid",
  ],
  ["neither rules nor a backend", { metadata: meta(), spec: {} }, "spec Invalid"],
  [
    "a certificate for a host that is no name",
    ingressOf({}, {}, { tls: [{ hosts: ["a_b"], secretName: "a" }] }),
    "spec.tls[0].hosts[0] Invalid",
  ],
  ["a class with a bad name", ingressOf({}, {}, { ingressClassName: "A_b" }), "spec.ingressClassName Invalid"],
];

const policies: readonly Row[] = [
  [
    "a block of addresses that is none",
    policyOf({ egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/99" } }] }] }),
    "spec.egress[0].to[0].ipBlock.cidr Invalid",
  ],
  [
    "an exception outside its block",
    policyOf({ egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/16"] } }] }] }),
    "spec.egress[0].to[0].ipBlock.except[0] Invalid",
  ],
  [
    "a block of addresses and pods at once",
    policyOf({ egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" }, podSelector: {} }] }] }),
    "spec.egress[0].to[0] Forbidden",
  ],
  ["no one in particular", policyOf({ ingress: [{ from: [{}] }] }), "spec.ingress[0].from[0] Required"],
  [
    "a port beyond 65535",
    policyOf({ ingress: [{ ports: [{ port: 70_000 }] }] }),
    "spec.ingress[0].ports[0].port Invalid",
  ],
  [
    "a port with a bad name",
    policyOf({ ingress: [{ ports: [{ port: "Not_A_Port" }] }] }),
    "spec.ingress[0].ports[0].port Invalid",
  ],
  [
    "a protocol that is unknown",
    policyOf({ ingress: [{ ports: [{ port: 80, protocol: "HTTP" }] }] }),
    "spec.ingress[0].ports[0].protocol NotSupported",
  ],
  [
    "an end before its beginning",
    policyOf({ ingress: [{ ports: [{ port: 80, endPort: 79 }] }] }),
    "spec.ingress[0].ports[0].endPort Invalid",
  ],
  [
    "an end without a beginning",
    policyOf({ ingress: [{ ports: [{ endPort: 79 }] }] }),
    "spec.ingress[0].ports[0].endPort Invalid",
  ],
  ["a direction that is unknown", policyOf({ policyTypes: ["Sideways"] }), "spec.policyTypes[0] NotSupported"],
  [
    "pods by a bad label",
    policyOf({ podSelector: { matchLabels: { a: "-b" } } }),
    "spec.podSelector.matchLabels Invalid",
  ],
];

const classes: readonly Row[] = [
  ["no provisioner", { metadata: meta() }, "provisioner Required"],
  [
    "a binding that is unknown",
    { metadata: meta(), provisioner: "a.b/c", volumeBindingMode: "Later" },
    "volumeBindingMode NotSupported",
  ],
];

const locks: readonly Row[] = [
  ["a time before now", { metadata: meta(), spec: { leaseDurationSeconds: -1 } }, "spec.leaseDurationSeconds Invalid"],
  ["a time that is none", { metadata: meta(), spec: { renewTime: "yesterday" } }, "400 BadRequest"],
];

const claims: readonly Row[] = [
  [
    "neither a way of access nor a size",
    { metadata: meta(), spec: {} },
    "spec.accessModes Required, spec.resources[storage] Required",
  ],
  ["a way of access that is unknown", claimOf({ accessModes: ["Sometimes"] }), "spec.accessModes NotSupported"],
  ["a size of 0", claimOf({}, "0"), "spec.resources[storage] Invalid"],
  ["a negative size", claimOf({}, "-1Gi"), "spec.resources[storage] Invalid"],
  ["a storage class with a bad name", claimOf({ storageClassName: "A_b" }), "spec.storageClassName Invalid"],
  ["a mode of volume that is unknown", claimOf({ volumeMode: "Stream" }), "spec.volumeMode NotSupported"],
  ["less than before", claimOf({}, "1Gi"), "spec Forbidden", { after: claimOf({}, "2Gi") }],
  ["more, while it has no volume", claimOf({}, "2Gi"), "spec Forbidden", { after: claimOf({}, "1Gi") }],
  [
    "another storage class than before",
    claimOf({ storageClassName: "other" }),
    "spec Forbidden",
    { after: claimOf({ storageClassName: "one" }) },
  ],
  [
    "another way of access than before",
    claimOf({ accessModes: ["ReadWriteMany"] }),
    "spec Forbidden",
    { after: claimOf({}) },
  ],
];

const permissions: readonly Row[] = [
  [
    "a rule without verbs",
    { metadata: meta(), rules: [{ apiGroups: [""], resources: ["pods"] }] },
    "rules[0].verbs Required",
  ],
  [
    "a rule without resources",
    { metadata: meta(), rules: [{ apiGroups: [""], verbs: ["get"] }] },
    "rules[0].resources Required",
  ],
];

const bindingOf = (more: Fields) => ({
  metadata: meta(),
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "a" },
  ...more,
});
const bindings: readonly Row[] = [
  [
    "a role of no kind",
    bindingOf({ roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Thing", name: "a" } }),
    "roleRef.kind NotSupported",
  ],
  ["a subject of no kind", bindingOf({ subjects: [{ kind: "Thing", name: "a" }] }), "subjects[0].kind NotSupported"],
  [
    "another role than before",
    bindingOf({ roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "b" } }),
    "roleRef Invalid",
    { after: bindingOf({}) },
  ],
];

export const rejectedObjects: readonly RejectedObject[] = [
  ...rejectedOf(kinds.configMap, metadata),
  ...rejectedOf(kinds.secret, secrets),
  ...rejectedOf(kinds.namespace, namespaces),
  ...rejectedPods,
  ...rejectedOf(kinds.service, services),
  ...rejectedOf(kinds.ingress, ingresses),
  ...rejectedOf(kinds.networkPolicy, policies),
  ...rejectedOf(kinds.persistentVolumeClaim, claims),
  ...rejectedOf(kinds.storageClass, classes),
  ...rejectedOf(kinds.lease, locks),
  ...rejectedOf(kinds.role, permissions),
  ...rejectedOf(kinds.roleBinding, bindings),
];
