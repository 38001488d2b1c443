/**
 * What tenants' tools and operators rely on, line by line as the network's compatibility checklist has it, under its numbers. Each
 * is tried here on a running provider, and names the tests that prove it in full.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { settingOf } from "../../src/config/table.ts";
import { streamPingMs } from "../../src/gateway/streams/web-socket-stream.ts";
import type { ManifestGroup } from "../../src/market/manifest.ts";
import { readSdl } from "../../src/market/sdl/sdl.ts";
import { eventually } from "../support/eventually.ts";
import { connectGateway, type GatewayResponse, sendRequest } from "../support/gateway-client.ts";
import { cell, shop } from "../support/samples/lease-sdl.ts";
import { startCertifiedGatewayStage } from "../support/stages/certified-gateway-stage.ts";
import { certificateOf, publicHost } from "../support/stages/gateway-stage.ts";
import { openStream } from "../support/stages/stream-stage.ts";

test("the compatibility checklist", async (t) => {
  const publicCertificate = certificateOf(publicHost);
  const stage = await startCertifiedGatewayStage(t, { tenants: 2, publicCertificate });
  const { tenant, port, provider } = stage;
  const [, other] = stage.tenants;
  assert.ok(other);
  const as = (who: typeof tenant, method: string, path: string, body?: string) =>
    sendRequest({ port }, { method, path, authorization: who.bearer(), ...(body !== undefined && { body }) });
  const put = (who: typeof tenant, dseq: bigint, manifest: unknown) =>
    as(who, "PUT", `/deployment/${dseq}/manifest`, JSON.stringify(manifest));
  const plain = readSdl(readFileSync(join(import.meta.dirname, "../..", "docs", "deploy.yaml"), "utf8"));
  // All at once: a lease takes a few blocks, and most of that is waiting.
  await Promise.all([
    tenant.deployed(1n, shop()),
    tenant.lease(2n, plain),
    other.lease(1n, shop()),
    other.lease(2n, { ...cell(), manifest: shop().manifest }),
  ]);

  await t.test(
    "1: TLS 1.3 and the rule of names, a client's certificate if it likes, ours from the chain",
    async () => {
      const shown = async (servername: string | undefined) => {
        const socket = await connectGateway({ port, servername });
        t.after(() => socket.destroy());
        assert.equal(socket.getProtocol(), "TLSv1.3");
        return socket.getPeerCertificate().subject.CN;
      };
      assert.equal(await shown(publicHost), publicHost);
      for (const name of [`mtls.${publicHost}`, provider.address, undefined])
        assert.equal(await shown(name), provider.address);
      const older = { tls: { minVersion: "TLSv1.2", maxVersion: "TLSv1.2" } } as const;
      await assert.rejects(connectGateway({ port, ...older }), /protocol version/);
      assert.equal((await sendRequest({ port }, { path: "/status" })).status, 200);
      assert.deepEqual(settingOf("gatewayListenAddress").default, "0.0.0.0:8443");
      proved("test/gateway/network-cli.test.ts", "with a certificate, by the CLI and then by Console");
      proved(
        "src/chain/certificates/make-certificate.test.ts",
        "the chain takes it, Node reads it, and its key belongs to it",
      );
      proved("test/chain/own-certificate.test.ts", "served when it is there and not before");
    },
  );

  await t.test(
    "2: a version of which Console asks more than the oldest status, and a status with what is available",
    async () => {
      const { akash } = JSON.parse((await sendRequest({ port }, { path: "/version" })).body);
      const [, major, minor] = /^v?(\d+)\.(\d+)\.\d+(-[\w.]+)?$/.exec(akash.version) ?? [];
      assert.ok(Number(major) > 0 || Number(minor) >= 5, akash.version);
      const status = JSON.parse((await sendRequest({ port }, { path: "/status" })).body);
      assert.ok(status.cluster.inventory.available);
      assert.equal(status.address, provider.address);
    },
  );

  await t.test(
    "3: rejections of auth in JSON, others as a line of text, and a manifest that is taken as nothing",
    async () => {
      const stranger = await sendRequest({ port }, { path: "/lease/1/1/1/status" });
      assert.deepEqual(told(stranger), [401, "application/json", '{"message":"unauthorized access"}']);
      const unknown = await as(tenant, "GET", "/lease/404/1/1/manifest");
      assert.deepEqual(told(unknown), [404, "text/plain; charset=utf-8", "lease not found\n"]);
      const taken = await eventually("a manifest taken", async () => {
        const answer = await put(tenant, 2n, plain.manifest);
        return answer.status === 200 && answer;
      });
      assert.deepEqual([...told(taken), taken.header("Content-Length")], [200, undefined, "", "0"]);
    },
  );

  await t.test("4: the words by which Console tells a tenant's fault from ours", async () => {
    const [wrongHash, foreignHost, otherGroups] = await Promise.all([
      put(tenant, 1n, cell().manifest),
      put(other, 1n, shop().manifest),
      put(other, 2n, shop().manifest),
    ]);
    assert.match(wrongHash.body, /validation failed/);
    assert.match(foreignHost.body, /^hostname not allowed:/);
    assert.match(otherGroups.body, /^manifest cross-validation error:/);
  });

  await t.test("5: nulls, addresses in capitals and ports outside in the status of a lease", async () => {
    const { ips, forwarded_ports: ports } = await eventually("its address is known", async () => {
      const read = JSON.parse((await as(tenant, "GET", "/lease/1/1/1/status")).body);
      return read.ips?.page && read;
    });
    assert.deepEqual(Object.keys(ips.page[0]), ["Port", "ExternalPort", "Protocol", "IP"]);
    assert.deepEqual(Object.keys(ports.page[0]), ["host", "port", "externalPort", "proto", "name"]);
    const bare = await eventually("what has neither runs", async () => {
      const answer = await as(tenant, "GET", "/lease/2/1/1/status");
      return answer.status === 200 && JSON.parse(answer.body);
    });
    assert.deepEqual([bare.ips, bare.forwarded_ports], [null, null]);
    proved(
      "test/gateway/leases.recorded.test.ts",
      "recorded requests about manifests and leases → the recorded answers, or listed differences",
    );
  });

  const streamed = async (lease: number, asked: string) => {
    const path = `/lease/${lease}/1/1/${asked}`;
    const client = await openStream(port, { path, authorization: tenant.bearer() });
    await client.until(() => client.close !== undefined);
    client.socket.destroy();
    const frames = client.frames.filter(({ type }) => type === "text" || type === "binary");
    return { frames: frames.map(({ bytes }) => bytes.toString()), code: client.close?.code };
  };

  await t.test(
    "6: pings, a line of JSON for a line of a log, services by either name, and the codes at the end",
    async () => {
      await eventually("its store is ready", async () => {
        const { services } = JSON.parse((await as(tenant, "GET", "/lease/1/1/1/status")).body);
        return services.store.ready_replicas === 1;
      });
      for (const filter of ["service", "services"]) {
        const { frames, code } = await streamed(1, `logs?${filter}=store`);
        assert.deepEqual(frames, ['{"name":"store-0","message":"store started"}\n']);
        assert.equal(code, 1000);
      }
      assert.equal((await streamed(1, "kubeevents?follow=false")).code, 1000);
      assert.equal((await streamed(404, "logs")).code, 4001);
      assert.equal((await streamed(1, "logs?service=nobody")).code, 4000);
      assert.ok(streamPingMs <= 10_000);
      proved("test/gateway/network-streams.test.ts", "a stream on which nothing happens is kept by pings alone");
      proved(
        "src/gateway/streams/web-socket-stream.test.ts",
        "stream is pinged every ten seconds, with or without pongs",
      );
      proved("test/gateway/logs.recorded.test.ts", "recorded log streams → the recorded frames, or listed differences");
      proved(
        "test/gateway/events.recorded.test.ts",
        "recorded event streams → the recorded frames, or listed differences",
      );
    },
  );

  await t.test("7: the codes of a shell, its result with a line feed, and then its end", async () => {
    const command =
      "shell?service=store&podIndex=0&tty=0&stdin=0&cmd0=sh&cmd1=-c&cmd2=echo+hi%3Becho+oh+>%262%3Bexit+3";
    const { frames, code } = await streamed(1, command);
    assert.deepEqual(frames.toSorted(), ["dhi\n", "eoh\n", 'f{"exit_code":3}\n']);
    assert.deepEqual([frames.at(-1)?.[0], code], ["f", 1000]);
    proved("src/gateway/streams/shell-frames.test.ts", "frames are the network's, byte by byte");
    proved("src/gateway/client/provider-stream.test.ts", "a shell sends what is typed, its end and every size");
  });

  await t.test("8: one hash, in which null is not [], for SDLs of 2.0 and 2.1 alike", async () => {
    const [group] = JSON.parse(JSON.stringify(plain.manifest)) as [ManifestGroup];
    const emptied = [{ ...group, services: group.services.map((service) => ({ ...service, args: [] })) }];
    assert.equal((await put(tenant, 2n, emptied)).status, 422);
    // The first is of 2.1, the second of 2.0.
    assert.equal((await put(tenant, 1n, shop().manifest)).status, 200);
    assert.equal((await put(tenant, 2n, plain.manifest)).status, 200);
    proved("src/market/manifest-json.test.ts", "what is not given is not the same as what is given empty");
    proved(
      "src/market/manifest-match.test.ts",
      "a manifest that differs from its groups on chain is rejected in the network's words",
    );
  });

  await t.test("9: tokens of both algorithms, and keys that are known while the chain is away", () => {
    proved("src/gateway/auth/network-tools.test.ts", "a token that a wallet signed as it signs transactions is good");
    proved("src/gateway/auth/network-tools.test.ts", "a token that a key signed by itself is good, for what it says");
    proved(
      "src/gateway/auth/signature.vectors.test.ts",
      "the network's own samples of signatures are good or bad as it says",
    );
    proved("test/gateway/unknown-accounts.test.ts", "a silent chain locks no tenant out");
  });

  await t.test(
    "10: variables with both prefixes, every flag, and the certificate's file, so that binaries can be swapped",
    () => {
      proved("src/config/environment.test.ts", "AP_ wins over AKASH_, and an empty variable is as good as none");
      proved("src/config/table.test.ts", "every setting of the Go provider's run command is known");
      proved("src/chain/certificates/certificate-file.test.ts", "a file of the network's older tools is opened too");
      proved("test/chain/own-certificate.test.ts", "the network's own file is taken over where it is on the chain");
    },
  );
});

function told({ status, header, body }: GatewayResponse): [number, string | undefined, string] {
  return [status, header("Content-Type"), body];
}

/** The test of that name is there. */
function proved(file: string, name: string): void {
  assert.ok(
    readFileSync(join(import.meta.dirname, "../..", file), "utf8").includes(name),
    `${file} has no test "${name}"`,
  );
}
