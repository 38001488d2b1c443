/** The module of client certificates. */
import {
  Cert_State,
  type Certificate,
  type CertificateResponse,
  type ID,
  MsgCreateCertificate,
  MsgCreateCertificateResponse,
  MsgRevokeCertificate,
  MsgRevokeCertificateResponse,
  QueryCertificatesRequest,
  QueryCertificatesResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Context, Module } from "../../module.ts";
import { certRefusal, checkCertificate } from "./certificate.ts";
import { listCertificates } from "./list.ts";

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
      const page = listCertificates(certificates(context), filter, pagination);
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
