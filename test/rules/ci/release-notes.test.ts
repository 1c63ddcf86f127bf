/** What a release's tag is checked for before anything is published. */
import t from 'tap'
import { findReleaseNotes } from '../../../.ci/release-notes.ts'

const changelog = `# Changelog

Dates are ISO dates.

## 0.2.0 — 2026-12-01

Migrates the database: yes.
Back to 0.1.0: by a backup made before.

### API

- New.

## 0.1.0 — 2026-11-24

The first release.
`

t.test('prints the section of the version without its heading', (t) => {
  t.equal(
    findReleaseNotes(changelog, '0.2.0', 'v0.2.0'),
    'Migrates the database: yes.\nBack to 0.1.0: by a backup made before.\n\n### API\n\n- New.',
  )
  t.end()
})

for (const [title, version, tag, text, message] of [
  ['a tag of another version', '0.2.0', 'v0.2.1', changelog, /The tag v0\.2\.1 is not that of the version 0\.2\.0/],
  ['a version without a section', '0.2', 'v0.2', changelog, /no section that begins with '## 0\.2 — '/],
  ['a section without a date', '0.2.0', 'v0.2.0', changelog.replace('2026-12-01', 'unreleased'), /has no date/],
  [
    'a section that is silent about the way back',
    '0.1.0',
    'v0.1.0',
    changelog,
    /needs two lines: 'Migrates the database: yes\.'/,
  ],
] as const) {
  t.test(`refuses ${title}`, (t) => {
    t.throws(() => findReleaseNotes(text, version, tag), { message })
    t.end()
  })
}
