/** Links that a terminal opens at a click (OSC 8), printed only where the terminal is known to support them. */
import { createRequire } from 'node:module'
import type { createSupportsHyperlinks } from 'supports-hyperlinks'
import type { ProcessOutput } from '../process-io.ts'

/** The library is loaded at the first address, because loading takes as long as the rest of a short command. FORCE_HYPERLINK overrides it. */
export function supportsHyperlinks(stream: ProcessOutput): boolean {
  const library = require('supports-hyperlinks') as { readonly createSupportsHyperlinks: typeof createSupportsHyperlinks }
  return library.createSupportsHyperlinks(stream)
}

const require = createRequire(import.meta.url)

/** Longer addresses are not accepted by all terminals. */
const maxAddressChars = 2000

/** The text as a link; unchanged where the address is of another kind than a page, a letter or a file. */
export function formatHyperlink(address: string, text: string): string {
  const url = URL.parse(address)
  if (url === null || !['http:', 'https:', 'mailto:', 'file:'].includes(url.protocol)) return text
  if (!/^[!-~]+$/.test(url.href) || url.href.length > maxAddressChars) return text
  return `\u001b]8;;${url.href}\u001b\\${text}\u001b]8;;\u001b\\`
}

/** Makes the web addresses in a text links. Existing links stay as they are. */
export function linkAddresses({ hyperlinks }: { readonly hyperlinks?: boolean | undefined }, text: string): string {
  if (!text.includes('://') || hyperlinks !== true) return text
  return text.replaceAll(existingLinkOrAddress, (found) => (found.startsWith('\u001b') ? found : formatHyperlink(found, found)))
}

/** A link ends with an empty one; an address ends before the punctuation of its sentence. */
const existingLinkOrAddress = new RegExp(
  String.raw`ESC\]8;;[^ESC]+ESC\\[^]*?ESC\]8;;ESC\\|https?:\/\/[!-~]*[\w/=&#%~+-]`.replaceAll('ESC', '\u001b'),
  'g',
)
