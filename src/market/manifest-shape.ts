/** The form of a manifest's JSON. */
import { flag, list, omits, pointer, record, text, texts, uint32 } from "./go-shape.ts";
import { resourcesShape as resources } from "./resources-shape.ts";

const httpOptions = record("v2beta3.ServiceExposeHTTPOptions", {
  maxBodySize: uint32,
  readTimeout: uint32,
  sendTimeout: uint32,
  nextTries: uint32,
  nextTimeout: uint32,
  nextCases: omits(texts),
  proxyBufferSize: omits(uint32),
});
const expose = record("v2beta3.ServiceExpose", {
  port: uint32,
  externalPort: uint32,
  proto: { kind: "text", go: "v2beta3.ServiceProtocol" },
  service: text,
  global: flag,
  hosts: texts,
  httpOptions,
  ip: text,
  endpointSequenceNumber: uint32,
});
const credentials = record("v2beta3.ImageCredentials", { host: text, email: text, username: text, password: text });
const params = record("v2beta3.ServiceParams", {
  storage: list(
    record("v2beta3.StorageParams", { name: text, mount: text, readOnly: flag }),
    "[]v2beta3.StorageParams",
  ),
  credentials: pointer(omits(credentials)),
  permissions: pointer(omits(record("v2beta3.ServicePermissions", { read: omits(texts) }))),
  tee: pointer(omits(record("v2beta3.TEEParams", { type: text, attestation: flag }))),
});
const service = record("v2beta3.Service", {
  name: text,
  image: text,
  command: texts,
  args: texts,
  env: texts,
  resources,
  count: uint32,
  expose: list(expose, "v2beta3.ServiceExposes"),
  params: pointer(omits(params)),
  credentials: pointer(credentials),
});
const group = record("v2beta3.Group", { name: text, services: list(service, "v2beta3.Services") });

export const manifestShape = list(group, "v2beta3.Manifest");
