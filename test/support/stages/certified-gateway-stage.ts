/** The stage of the gateway with a certificate and an address that its provider has on the chain, as tenants' tools demand it. */

import type { CertificateWithKey } from "../../../src/chain/certificates/certificate-file.ts";
import { makeCertificate, newSerial } from "../../../src/chain/certificates/make-certificate.ts";
import type { Queries } from "../../../src/chain/chain.ts";
import { createPool } from "../../../src/chain/comet/pool.ts";
import { createQueries } from "../../../src/chain/comet/queries/queries.ts";
import { createCometBroadcaster } from "../../../src/chain/tx/comet-broadcaster.ts";
import { createCertificateMessage, packMessage } from "../../../src/chain/tx/messages.ts";
import { sendMessages } from "../../../src/chain/tx/send.ts";
import type { CertificateSource } from "../../../src/gateway/certificate/file-certificate.ts";
import { realClock as clock } from "../../../src/runtime/clock.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import { realRandom as random } from "../../../src/runtime/random.ts";
import type { Owner } from "../owner.ts";
import { type GatewayStage, type GatewayStageOptions, publicHost, startGatewayStage } from "./gateway-stage.ts";
import { bidding, fees } from "./lease-stage.ts";

export interface CertifiedGatewayStage extends GatewayStage {
  readonly host: string;
  /** By which the chain has it. */
  readonly url: string;
  readonly queries: Queries;
}

export async function startCertifiedGatewayStage(
  owner: Owner,
  options: GatewayStageOptions = {},
): Promise<CertifiedGatewayStage> {
  const served = settableSource();
  const stage = await startGatewayStage(owner, { ...options, ownCertificate: served });
  const { node, provider: signer } = stage;
  const pool = createPool({ nodes: [node.transport("provider's wallet")], clock, random, log: silentLog });
  owner.after(() => pool.close());
  await pool.open();
  const made = makeCertificate({
    ...{ owner: signer.address, hosts: [publicHost], isServer: true, serial: newSerial(clock, random) },
    ...{ fromMs: clock.now() - 60_000, untilMs: clock.now() + 3_600_000 },
  });
  const deps = { chainId: node.chainId, chain: createCometBroadcaster(pool), settings: fees, clock, random, signer };
  const url = `https://localhost:${stage.port}`;
  const entry = { owner: signer.address, hostUri: url, attributes: [...bidding.attributes], info: undefined };
  await sendMessages(deps, [createCertificateMessage(signer.address, made), packMessage("updateProvider", entry)]);
  served.set(made);
  return { ...stage, host: publicHost, url, queries: createQueries(pool) };
}

/** There is none at first. */
function settableSource(): CertificateSource & { set(certificate: CertificateWithKey): void } {
  const listeners: (() => void)[] = [];
  let current: CertificateWithKey | undefined;
  return {
    get current() {
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
    set(certificate) {
      current = certificate;
      for (const listener of listeners) listener();
    },
  };
}
