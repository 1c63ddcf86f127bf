/** A self-signed certificate for 127.0.0.1, created for one test. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface TlsCertificate {
  /** Paths of the files, in the form of the configuration. */
  readonly cert: string
  readonly key: string
  /** The certificate that a client must trust. */
  readonly ca: Buffer
}

export function createSelfSignedCertificate(folder: string): TlsCertificate {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=127.0.0.1',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
      '-keyout',
      key,
      '-out',
      cert,
    ],
    { stdio: 'ignore' },
  )
  return { cert, key, ca: readFileSync(cert) }
}
