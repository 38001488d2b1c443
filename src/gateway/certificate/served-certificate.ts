/** What is shown to clients in a handshake: certificates with their keys, which change while we run. */
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";

/** Where certificates come from: our own, which is on the chain, and one of a public authority. */
export interface CertificateSource {
  /** Undefined while there is none that may be served. */
  readonly current: CertificateWithKey | undefined;
  /** Told after every change. */
  onChange(listener: () => void): void;
}

/** Where there is none. */
export const noCertificate: CertificateSource = { current: undefined, onChange: () => undefined };
