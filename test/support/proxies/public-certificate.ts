/** A self-signed certificate for the host name of the shipped files, or for another one, made for one test. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { publicHost } from './shipped-file.ts'

export interface PublicCertificate {
  readonly certFile: string
  readonly keyFile: string
  /** What a client must trust. */
  readonly ca: string
}

export function createPublicCertificate(folder: string, host = publicHost): PublicCertificate {
  const [certFile, keyFile] = [join(folder, 'fullchain.pem'), join(folder, 'privkey.pem')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile]
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
  execFileSync('openssl', ['req', '-x509', '-days', '2', ...key, ...names, '-out', certFile], { stdio: 'ignore' })
  return { certFile, keyFile, ca: readFileSync(certFile, 'utf8') }
}
