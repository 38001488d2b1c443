/** The definitions that come with the program, on any API server: nothing that providers write is lost in them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { installDefinitions } from "../../../src/kube/definitions.ts";
import { apiVersionOf, type Kind, kinds } from "../../../src/kube/kinds.ts";
import type { KubeObject } from "../../../src/kube/kube.ts";
import type { LeaseWorkload } from "../../../src/kube/objects/lease-workload.ts";
import { leasedIp, readLeasedIp, sharingKey } from "../../../src/kube/objects/leased-ip.ts";
import { manifestResource } from "../../../src/kube/objects/manifest-resource.ts";
import { providerHost, readProviderHost } from "../../../src/kube/objects/provider-host.ts";
import { readManifestResource } from "../../../src/kube/objects/read-manifest-resource.ts";
import { parseLeaseId } from "../../../src/market/ids.ts";
import { realClock } from "../../../src/runtime/clock.ts";
import { rejection } from "../kube/kube-objects.ts";
import { recordedLeases } from "../samples/recorded-leases.ts";
import type { KubeContract, KubeStage } from "./kube.contract.ts";

const owner = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr";
const lease = parseLeaseId(`${owner}/18446744073709551615/1/1/akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6`);
const customKinds: readonly Kind[] = [kinds.manifest, kinds.providerHost, kinds.providerLeasedIp];

export function checkDefinitions({ name, skip, open }: KubeContract): void {
  describe(`our definitions on ${name}`, { skip }, () => {
    test("are served as soon as they are installed, and not written again by the next process", async (t) => {
      const { connect } = await installed(t, open);
      const again = await installDefinitions(connect("akash-provider-install"), realClock);
      assert.deepEqual(
        again.map(({ written }) => written),
        [false, false, false],
      );
    });

    test("serve the one version", async (t) => {
      const { kube, namespace } = await installed(t, open);
      for (const kind of customKinds) {
        await kube.list(kind, { namespace });
        await rejection(kube.list({ ...kind, version: "v2beta1" }, { namespace }), "AKP_KUBE_KIND_MISSING");
      }
    });

    test("keep all that we write, and a restart writes none of it again", async (t) => {
      const { kube, connect, namespace } = await installed(t, open);
      const manifestNamespace = namespace;
      const key = sharingKey(lease.owner, "my_ip");
      const port = { service: "web", port: 8080, externalPort: 53, protocol: "UDP", sharingKey: key } as const;
      const host = { lease, host: "*.example.com", service: "web", externalPort: 80 };
      const note = { version: "00ff", receivedAtMs: Date.UTC(2026, 10, 16) };
      const written = [
        manifestResource(full, note, { manifestNamespace }),
        providerHost(host, { manifestNamespace }),
        leasedIp({ lease, ...port }, { manifestNamespace }),
      ];
      const live: KubeObject[] = [];
      for (const { kind, object } of written) {
        const { object: made } = await kube.apply(kind, object);
        assert.ok(made);
        assert.deepEqual(made["spec"], object["spec"]);
        assert.equal((await connect(kube.fieldManager).apply(kind, object)).written, false, kind.kind);
        live.push(made);
      }
      const [manifest, providersHost, ip] = live as [KubeObject, KubeObject, KubeObject];
      assert.deepEqual(readManifestResource(manifest), { lease, group: full.group, ...note });
      assert.deepEqual(readProviderHost(providersHost), host);
      assert.deepEqual(readLeasedIp(ip), { lease, ...port });
    });

    test("keep a leased address in camel case, and we read it", async (t) => {
      const { kube, namespace } = await installed(t, open);
      const spec = {
        leaseID: { owner, dseq: 12_345, gseq: 1, oseq: 1 },
        serviceName: "web",
        port: 80,
        externalPort: 8080,
        protocol: "TCP",
        sharingKey: owner,
      };
      const made = await kube.create(kinds.providerLeasedIp, {
        metadata: { namespace, name: `${owner}-tcp-8080`, labels: { "akash.network/managed": "true" } },
        spec,
      });
      assert.deepEqual(made["spec"], spec);
      assert.equal(readLeasedIp(made), undefined);
      assert.deepEqual(readLeasedIp(made, lease.provider), {
        lease: { ...lease, dseq: 12_345n },
        service: "web",
        port: 80,
        externalPort: 8080,
        protocol: "TCP",
        sharingKey: owner,
      });
    });

    test("keep all that the Go provider wrote", async (t) => {
      const { kube, connect, namespace } = await installed(t, open);
      const restarted = connect(kube.fieldManager);
      let count = 0;
      for (const [kind, object] of recorded()) {
        const { name, labels = {}, annotations = {} } = object.metadata;
        const wish = { metadata: { name, namespace, labels, annotations }, spec: object["spec"] };
        const { object: made } = await kube.apply(kind, wish);
        assert.deepEqual(made?.["spec"], object["spec"]);
        assert.equal((await restarted.apply(kind, wish)).written, false, name);
        await kube.delete(kind, { namespace, name });
        count += 1;
      }
      assert.ok(count > 60, `only ${count} were recorded`);
    });
  });
}

type Owner = Parameters<KubeContract["open"]>[0];

async function installed(t: Owner, open: KubeContract["open"]): Promise<KubeStage> {
  const stage = await open(t);
  await installDefinitions(stage.connect("akash-provider-install"), realClock);
  return stage;
}

/** Of objects that have the same spec there is one. */
function recorded(): [Kind, KubeObject][] {
  const found = new Map<string, [Kind, KubeObject]>();
  for (const object of recordedLeases().flatMap(({ objects }) => objects)) {
    const kind = customKinds.find((each) => each.kind === object.kind && apiVersionOf(each) === object.apiVersion);
    if (kind) found.set(`${kind.kind} ${JSON.stringify(object["spec"])}`, [kind, object]);
  }
  return [...found.values()];
}

/** With every field that a manifest can have. */
const attributes = [{ key: "class", value: "beta2" }];
const full: LeaseWorkload = {
  lease,
  offer: [],
  group: {
    name: "group",
    services: [
      {
        name: "web",
        image: "nowhere.example/web:1",
        command: ["/bin/sh"],
        args: ["-c", "true"],
        env: ["A=1", "B="],
        resources: {
          id: 1,
          cpu: { units: { val: "100" }, attributes: [{ key: "arch", value: "amd64" }] },
          memory: { size: { val: "18446744073709551615" } },
          storage: [{ name: "data", size: { val: "1" }, attributes }],
          gpu: { units: { val: "0" } },
          endpoints: [],
        },
        count: 2,
        expose: [
          {
            port: 8080,
            externalPort: 80,
            proto: "TCP",
            service: "",
            global: true,
            hosts: ["*.example.com"],
            httpOptions: {
              maxBodySize: 1_048_576,
              readTimeout: 60_000,
              sendTimeout: 60_000,
              nextTries: 3,
              nextTimeout: 1,
              nextCases: ["error"],
              proxyBufferSize: 16_384,
            },
            ip: "my_ip",
            endpointSequenceNumber: 1,
          },
        ],
        params: {
          storage: [{ name: "data", mount: "/data", readOnly: true }],
          permissions: { read: ["logs"] },
          tee: { type: "tdx", attestation: true },
        },
        credentials: { host: "nowhere.example", email: "", username: "who", password: "not-a-secret" },
      },
    ],
  },
};
