/** A text as a QR code: one path, because squares of their own show gaps in some browsers. */
import { encode } from 'uqr'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'

/** The margin that readers need, in modules. */
const border = 4
const size = 240

export function renderQrCode(text: string, label: string): Html {
  const { data } = encode(text, { ecc: 'M', border })
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : []))).join('')
  const box = `0 0 ${data.length} ${data.length}`
  // Dark on light in both themes: readers expect that.
  return html`<svg
    role="img"
    aria-label="${label}"
    width="${size}"
    height="${size}"
    viewBox="${box}"
    shape-rendering="crispEdges"
  >
    <rect width="${data.length}" height="${data.length}" fill="#fff" />
    <path d="${path}" fill="#000" />
  </svg>`
}
