/** Response headers: the content security policy of pages, and the headers common to every response. */
import type { Services } from '../../services/services.ts'

const disabledFeatures = [
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

/** The headers of a page. Scripts and styles load from our files only, and Trusted Types prevent that a script turns text into markup. */
export function buildPageHeaders({ origins }: Pick<Services, 'origins'>): Record<string, string> {
  // Generated images are served from the API's origin, which may differ from the site's; a picture that a member attaches is in the page.
  const pictures = origins.base === origins.site ? "'self' data:" : `'self' data: ${origins.base}`
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "font-src 'self'",
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
    'permissions-policy': disabledFeatures.map((power) => `${power}=()`).join(', '),
    'x-frame-options': 'DENY',
  }
}

/** The headers of every response. */
export function buildCommonHeaders({ site }: Services['origins']): Record<string, string> {
  return {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    ...(site.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  }
}

/** Computes the headers at the first call, because the origins are known only once the server listens. */
export function createCommonHeaders({ origins }: Pick<Services, 'origins'>): () => Record<string, string> {
  let values: Record<string, string> | undefined
  return () => (values ??= buildCommonHeaders(origins))
}
