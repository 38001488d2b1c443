/** The module of client certificates. */
import {
  Cert_State,
  type Certificate,
  type CertificateFilter,
  type CertificateResponse,
  type ID,
  MsgCreateCertificate,
  MsgCreateCertificateResponse,
  MsgRevokeCertificate,
  MsgRevokeCertificateResponse,
  QueryCertificatesRequest,
  QueryCertificatesResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { PageRequest } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { askedStates, checkOffset, decodePageKey, firstPage, type Listed, type Walk } from "../../akash-paging.ts";
import type { Context, Module } from "../../module.ts";
import { askedAddress } from "../../refusals.ts";
import { certRefusal, checkCertificate } from "./certificate.ts";

export const certModule: Module = {
  name: "cert",
  messages: {
    "/akash.cert.v1.MsgCreateCertificate": {
      signers: (bytes) => [MsgCreateCertificate.decode(bytes).owner],
      validate(bytes) {
        const { owner, cert, pubkey } = MsgCreateCertificate.decode(bytes);
        checkCertificate(owner, cert, pubkey);
      },
      handle(context, bytes) {
        const { owner, cert, pubkey } = MsgCreateCertificate.decode(bytes);
        const id: ID = { owner, serial: checkCertificate(owner, cert, pubkey).toString() };
        if (find(context, id)) throw certRefusal("exists");
        save(context, id, { state: Cert_State.valid, cert, pubkey });
        return MsgCreateCertificateResponse.encode({}).finish();
      },
    },
    "/akash.cert.v1.MsgRevokeCertificate": {
      signers: (bytes) => [revokedId(bytes).owner],
      validate(bytes) {
        if (!/^[+-]?\d+$/.test(revokedId(bytes).serial)) throw certRefusal("invalidSerial");
      },
      handle(context, bytes) {
        const id = revokedId(bytes);
        const certificate = find(context, id);
        if (!certificate) throw certRefusal("notFound");
        if (certificate.state === Cert_State.revoked) throw certRefusal("alreadyRevoked");
        certificates(context).delete(keyOf(id, Cert_State.valid));
        save(context, id, { ...certificate, state: Cert_State.revoked });
        return MsgRevokeCertificateResponse.encode({}).finish();
      },
    },
  },
  queries: {
    "/akash.cert.v1.Query/Certificates"(context, bytes) {
      const { filter, pagination } = QueryCertificatesRequest.decode(bytes);
      const page = list(context, filter, pagination);
      const found = page.items.map(({ id, certificate }): CertificateResponse => ({ certificate, serial: id.serial }));
      return QueryCertificatesResponse.encode({ certificates: found, pagination: page.pagination }).finish();
    },
  },
};

interface Entry {
  readonly id: ID;
  readonly certificate: Certificate;
}

function certificates(context: Context) {
  return context.store.table<Entry>("cert/certificates");
}

/** Valid ones before revoked ones. */
const states = { valid: Cert_State.valid, revoked: Cert_State.revoked };
const noFilter: CertificateFilter = { owner: "", serial: "", state: "" };

function list(context: Context, filter = noFilter, request: PageRequest | undefined): Listed<Entry> {
  checkOffset(request, filter.state);
  const start = request?.key.length ? resume(request.key) : { ...begin(filter), from: undefined };
  const walks = start.states.map(
    (state, index): Walk<Entry> => ({
      entries: certificates(context).entries(`${state}/${start.search}`, index === 0 ? start.from : undefined),
      keyAt: (key) => ({
        states: Uint8Array.from(start.states.slice(index)),
        prefix: Buffer.from(start.search),
        key: Buffer.from(key),
      }),
    }),
  );
  return firstPage(walks, request);
}

/** `search` is what follows the state in the keys that are wanted. */
function begin({ owner, serial, state }: CertificateFilter): { states: number[]; search: string } {
  const numbers = askedStates(states, state);
  const path = [...(owner ? [askedAddress(owner)] : []), ...(owner && serial ? [serial] : [])];
  return { states: numbers, search: path.map((part) => `${part}/`).join("") };
}

function resume(pageKey: Uint8Array): { states: number[]; search: string; from: string } {
  const { states, prefix, key } = decodePageKey(pageKey);
  return { states: [...states], search: Buffer.from(prefix).toString(), from: Buffer.from(key).toString() };
}

function keyOf({ owner, serial }: ID, state: Cert_State): string {
  return `${state}/${owner}/${serial}/`;
}

function find(context: Context, id: ID): Certificate | undefined {
  const table = certificates(context);
  return (table.get(keyOf(id, Cert_State.valid)) ?? table.get(keyOf(id, Cert_State.revoked)))?.certificate;
}

function save(context: Context, id: ID, certificate: Certificate): void {
  certificates(context).set(keyOf(id, certificate.state), { id, certificate });
}

function revokedId(bytes: Uint8Array): ID {
  return MsgRevokeCertificate.decode(bytes).id ?? { owner: "", serial: "" };
}
