/**
 * Hashes of the settings that all nodes of an installation must share, by section. A node stores them with its lease, so that nodes
 * with different configurations are found. They contain no secret.
 */
export type ConfigFingerprint = Readonly<Record<string, string>>

/** The sections in which any two differ. A section that only one of them has is not compared: nodes of two versions may be alive. */
export function findDifferingSections(fingerprints: readonly ConfigFingerprint[]): readonly string[] {
  const sections = new Set(fingerprints.flatMap((fingerprint) => Object.keys(fingerprint)))
  return [...sections].filter((section) => {
    const hashes = fingerprints.flatMap((fingerprint) => fingerprint[section] ?? [])
    return new Set(hashes).size > 1
  })
}
