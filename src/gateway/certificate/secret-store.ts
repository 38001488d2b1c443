/** Our certificates in a Secret of the provider's namespace: `<serial>.crt` and `<serial>.key`. */
import { X509Certificate } from "node:crypto";
import { serialOf } from "../../chain/certificates/certificate-fields.ts";
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../kube/kube.ts";
import type { Address } from "../../market/address.ts";
import { isRecord } from "../../runtime/is-record.ts";
import type { CertificateStore } from "./certificate-store.ts";

/** One for each account: whoever changes the account leaves the other's keys alone. */
export function secretNameOf(owner: Address): string {
  return `akash-provider-certificate-${owner}`;
}

export function createSecretStore(
  kube: Pick<Kube, "get" | "create" | "patch">,
  namespace: string,
  owner: Address,
): CertificateStore {
  const at = { namespace, name: secretNameOf(owner) };
  return {
    where: `Secret ${at.namespace}/${at.name}`,
    async read(signal) {
      const secret = await kube.get(kinds.secret, at, { signal });
      return { certificates: secret ? inData(secret) : [], version: secret?.metadata.resourceVersion };
    },
    async write(certificates, { version }, signal) {
      const data = dataOf(certificates);
      if (version === undefined) {
        await kube.create(kinds.secret, { metadata: at, type: "Opaque", data }, { signal });
        return;
      }
      const isTheOneRead = { op: "test", path: "/metadata/resourceVersion", value: version } as const;
      await kube.patch(kinds.secret, at, [isTheOneRead, { op: "add", path: "/data", value: data }], { signal });
    },
  };
}

function dataOf(certificates: readonly CertificateWithKey[]): Record<string, string> {
  return Object.fromEntries(
    certificates.flatMap(({ certificate, key }) => {
      const serial = serialOf(new X509Certificate(certificate));
      return [
        [`${serial}.crt`, inBase64(certificate)],
        [`${serial}.key`, inBase64(key)],
      ];
    }),
  );
}

function inData({ data }: KubeObject): CertificateWithKey[] {
  if (!isRecord(data)) return [];
  return Object.entries(data).flatMap(([name, value]) => {
    const key = name.endsWith(".crt") ? data[name.replace(/crt$/, "key")] : undefined;
    return typeof value === "string" && typeof key === "string" ? [{ certificate: text(value), key: text(key) }] : [];
  });
}

function inBase64(content: string): string {
  return Buffer.from(content).toString("base64");
}

function text(base64: string): string {
  return Buffer.from(base64, "base64").toString();
}
