/** The module of client certificates. */
import * as akash from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { PageRequest } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { checkOffset, decodePageKey, firstPage, type ListedPage, stateValues, type Walk } from "../../akash-paging.ts";
import { queriedAddress } from "../../errors.ts";
import { type Context, type Module, messageEntry } from "../../module.ts";
import { certError, checkCertificate } from "./certificate.ts";

export const certModule: Module = {
  messages: {
    "/akash.cert.v1.MsgCreateCertificate": messageEntry(akash.MsgCreateCertificate, {
      signer: ({ owner }) => owner,
      read({ owner, cert, pubkey }) {
        return { id: { owner, serial: checkCertificate(owner, cert, pubkey).toString() }, cert, pubkey };
      },
      handle(context, { id, cert, pubkey }) {
        if (find(context, id)) throw certError("exists");
        save(context, id, { state: akash.Cert_State.valid, cert, pubkey });
      },
    }),
    "/akash.cert.v1.MsgRevokeCertificate": messageEntry(akash.MsgRevokeCertificate, {
      signer: ({ id }) => id?.owner ?? "",
      read({ id = { owner: "", serial: "" } }) {
        if (!/^[+-]?\d+$/.test(id.serial)) throw certError("invalidSerial");
        return id;
      },
      handle(context, id) {
        const certificate = find(context, id);
        if (!certificate) throw certError("notFound");
        if (certificate.state === akash.Cert_State.revoked) throw certError("alreadyRevoked");
        certificates(context).delete(keyOf(id, akash.Cert_State.valid));
        save(context, id, { ...certificate, state: akash.Cert_State.revoked });
      },
    }),
  },
  queries: {
    "/akash.cert.v1.Query/Certificates"(context, bytes) {
      const { filter, pagination } = akash.QueryCertificatesRequest.decode(bytes);
      const page = list(context, filter, pagination);
      const found = page.items.map(({ id, certificate }) => ({ certificate, serial: id.serial }));
      return akash.QueryCertificatesResponse.encode({ ...page, certificates: found }).finish();
    },
  },
};

interface Entry {
  readonly id: akash.ID;
  readonly certificate: akash.Certificate;
}

function certificates(context: Context) {
  return context.store.table<Entry>("cert/certificates");
}

/** Valid ones before revoked ones. */
const states = { valid: akash.Cert_State.valid, revoked: akash.Cert_State.revoked };
const noFilter: akash.CertificateFilter = { owner: "", serial: "", state: "" };

function list(context: Context, filter = noFilter, request: PageRequest | undefined): ListedPage<Entry> {
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
function begin({ owner, serial, state }: akash.CertificateFilter): { states: number[]; search: string } {
  const numbers = stateValues(states, state);
  const path = [...(owner ? [queriedAddress(owner)] : []), ...(owner && serial ? [serial] : [])];
  return { states: numbers, search: path.map((part) => `${part}/`).join("") };
}

function resume(pageKey: Uint8Array): { states: number[]; search: string; from: string } {
  const { states, prefix, key } = decodePageKey(pageKey);
  return { states: [...states], search: Buffer.from(prefix).toString(), from: Buffer.from(key).toString() };
}

function keyOf({ owner, serial }: akash.ID, state: akash.Cert_State): string {
  return `${state}/${owner}/${serial}/`;
}

function find(context: Context, id: akash.ID): akash.Certificate | undefined {
  const table = certificates(context);
  return (table.get(keyOf(id, akash.Cert_State.valid)) ?? table.get(keyOf(id, akash.Cert_State.revoked)))?.certificate;
}

function save(context: Context, id: akash.ID, certificate: akash.Certificate): void {
  certificates(context).set(keyOf(id, certificate.state), { id, certificate });
}
