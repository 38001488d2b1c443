/** What workloads are declared to want, held against the resources that the network's own provider made for the same manifests. */
import assert from "node:assert/strict";
import { listVectors, readJsonVector, vectorsPresent, vectorTest } from "../../../test/vectors.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { readLeasedIp } from "../../kube/objects/leased-ip.ts";
import { readProviderHost } from "../../kube/objects/provider-host.ts";
import { type LeaseId, parseLeaseId } from "../../market/ids.ts";
import type { Manifest } from "../../market/manifest.ts";
import { addressesWanted } from "../addresses/addresses-wanted.ts";
import { hostsWanted } from "../hostnames/hosts-wanted.ts";

interface RecordedLease {
  readonly owner: string;
  readonly dseq: string;
  readonly oseq: number;
  readonly provider: string;
}

/** What that provider leaves behind, takes from everybody or cannot change. */
const faults = ["ip-rename/objects-1", "ip-update/objects-1", "ip-update-port/objects-1"];
/** Another lease of the owner had the name or the port. */
const withheld = ["host-dest/objects.", "gateway-dest/objects.", "ip-same/objects.", "ip-migrate/"];

/** "objects/web/objects-1.json" has its manifest and its lease beside it; "-g2" is the second group of a deployment. */
function recordings(): { readonly path: string; readonly gseq: number; readonly beside: (name: string) => string }[] {
  const paths = listVectors("objects");
  return paths.flatMap((path) => {
    const [, folder = "", suffix = ""] = /^(objects\/[^/]+)\/objects(.*)\.json$/.exec(path) ?? [];
    const group = /^-g(\d)$/.exec(suffix)?.[1];
    const beside = (name: string) => `${folder}/${name}${group ? "" : suffix}.json`;
    const isWhole = folder !== "" && ["manifest", "lease"].every((name) => paths.includes(beside(name)));
    const isKnown = [...faults, ...withheld].some((each) => path.includes(`objects/${each}`));
    return isWhole && !isKnown ? [{ path, gseq: Number(group ?? 1), beside }] : [];
  });
}

function recordedLease({ owner, dseq, oseq, provider }: RecordedLease, gseq: number): LeaseId {
  return parseLeaseId(`${owner}/${dseq}/${gseq}/${oseq}/${provider}`);
}

for (const { path, gseq, beside } of vectorsPresent ? recordings() : []) {
  vectorTest(`${path}: the declared host names and ports are those that are wanted`, () => {
    const lease = recordedLease(readJsonVector(beside("lease")), gseq);
    const group = readJsonVector<Manifest>(beside("manifest"))[gseq - 1];
    assert.ok(group);
    const { items } = readJsonVector<{ readonly items: readonly KubeObject[] }>(path);
    const of = (kind: string) => items.filter((each) => each.kind === kind);
    const byText = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value)).sort();
    const hosts = of("ProviderHost").flatMap((object) => readProviderHost(object) ?? []);
    assert.deepEqual(
      byText(hostsWanted({ lease, group }, { staticHostDomain: "ingress.lab.test" })),
      byText(hosts.map(({ host, service, externalPort }) => ({ host, service, externalPort }))),
    );
    const ports = of("ProviderLeasedIP").flatMap((object) => readLeasedIp(object) ?? []);
    const wanted = addressesWanted({ lease, group }).map(({ endpoint: _, ...port }) => port);
    assert.deepEqual(byText(wanted.map(sorted)), byText(ports.map(({ lease: _, ...port }) => sorted(port))));
  });
}

function sorted(value: object): unknown {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}

if (!vectorsPresent) vectorTest("the declared host names and ports are those that are wanted", () => undefined);
