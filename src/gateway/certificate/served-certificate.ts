/** What is shown to clients in a handshake: certificates with their keys, which change while we run. */

export interface ServedCertificate {
  /** As PEM; further ones lead to the authority. */
  readonly certificates: string;
  readonly key: string;
}

/** Where certificates come from: our own, which is on the chain, and one of a public authority. */
export interface CertificateSource {
  /** Undefined while there is none that may be served. */
  readonly current: ServedCertificate | undefined;
  /** Told after every change. */
  onChange(listener: () => void): void;
}

/** Where there is none. */
export const noCertificate: CertificateSource = { current: undefined, onChange: () => undefined };
