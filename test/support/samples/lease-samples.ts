/** Leases to try things with: one small service, changed where a test says so. */
import type { ObjectSettings } from "../../../src/kube/objects/container.ts";
import type { LeaseWorkload } from "../../../src/kube/objects/lease-workload.ts";
import { noOvercommit } from "../../../src/market/fit.ts";
import { parseLeaseId } from "../../../src/market/ids.ts";
import type { ManifestExpose, ManifestService } from "../../../src/market/manifest.ts";

export const sampleLease = parseLeaseId(
  "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr/12345/1/1/akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6",
);

export const objectSettings: ObjectSettings = {
  overcommit: noOvercommit,
  clusterPublicHostname: "provider.example.com",
  policies: { enabled: true, admitted: [], facts: { ranges: [], apiServer: [] } },
};

/** On the ingress. */
export const sampleExpose: ManifestExpose = {
  port: 80,
  externalPort: 0,
  proto: "TCP",
  service: "",
  global: true,
  hosts: null,
  httpOptions: { maxBodySize: 1_048_576, readTimeout: 60_000, sendTimeout: 60_000, nextTries: 3, nextTimeout: 0 },
  ip: "",
  endpointSequenceNumber: 0,
};

export const sampleResources: ManifestService["resources"] = {
  id: 1,
  cpu: { units: { val: "100" } },
  memory: { size: { val: "134217728" } },
  storage: [{ name: "default", size: { val: "268435456" } }],
  gpu: { units: { val: "0" } },
  endpoints: [],
};

export function sampleService(changes: Partial<ManifestService> = {}): ManifestService {
  return {
    name: "web",
    image: "nginx",
    command: null,
    args: null,
    env: null,
    resources: sampleResources,
    count: 1,
    expose: [sampleExpose],
    credentials: null,
    ...changes,
  };
}

export function sampleWorkload(...services: ManifestService[]): LeaseWorkload {
  return {
    lease: sampleLease,
    group: { name: "dc", services: services.length > 0 ? services : [sampleService()] },
    offer: [],
  };
}
