/** What a browser is told about our pages: what they may load and run, and who may frame, open or watch them. */
import type { Services } from '../gateway/services.ts'

const powers = [
  'accelerometer',
  'camera',
  'display-capture',
  'geolocation',
  'gyroscope',
  'hid',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'serial',
  'usb',
  'xr-spatial-tracking',
]

/** The headers of a page. Scripts and styles come from our files alone, and no script may turn text into markup. */
export function pageHeaders({ origins }: Services): Record<string, string> {
  // Pictures the models draw are served from the API's origin, which may be another than the site's.
  const pictures = origins.base === origins.site ? "'self'" : `'self' ${origins.base}`
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      `img-src ${pictures}`,
      "connect-src 'self'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': powers.map((power) => `${power}=()`).join(', '),
    'x-frame-options': 'DENY',
  }
}

/** The headers of every answer, page or not. */
export function commonHeaderValues({ site }: Services['origins']): Record<string, string> {
  return {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    ...(site.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  }
}

/** Known only once the server listens, and the same ever after. */
export function commonHeaders({ origins }: Services): () => Record<string, string> {
  let values: Record<string, string> | undefined
  return () => (values ??= commonHeaderValues(origins))
}
