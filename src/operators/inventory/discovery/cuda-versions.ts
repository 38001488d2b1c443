/**
 * The CUDA version that a driver brings, which nvidia-smi shows. The kernel does not know it, but each branch of the
 * driver (the number before the first point) was made for one version and keeps it. A branch that is not here has none
 * rather than a wrong one.
 */
const byBranch: Readonly<Record<string, string>> = {
  595: "13.2",
  590: "13.1",
  580: "13.0",
  575: "12.9",
  570: "12.8",
  565: "12.7",
  560: "12.6",
  555: "12.5",
  550: "12.4",
  545: "12.3",
  535: "12.2",
  530: "12.1",
  525: "12.0",
  520: "11.8",
  515: "11.7",
  510: "11.6",
  495: "11.5",
  470: "11.4",
  465: "11.3",
  460: "11.2",
  455: "11.1",
  450: "11.0",
  440: "10.2",
  418: "10.1",
  410: "10.0",
};

export function cudaVersionOf(driverVersion: string): string | undefined {
  return byBranch[driverVersion.split(".")[0] ?? ""];
}
