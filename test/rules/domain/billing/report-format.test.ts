/** Lines of CSV: quoting, and texts that a spreadsheet would calculate. */
import t from 'tap'
import { formatCsvLine } from '../../../../src/domain/billing/report-format.ts'

t.test('a text that a spreadsheet would calculate is shown as it is', async (t) => {
  for (const [value, cell] of [
    ['=1+1', "'=1+1"],
    ['=HYPERLINK("http://evil.example","x")', `"'=HYPERLINK(""http://evil.example"",""x"")"`],
    ['+1', "'+1"],
    ['-2+3+cmd', "'-2+3+cmd"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['\r=1', `"'\r=1"`],
    ['-0.25', '-0.25'],
    [-3, '-3'],
    [null, ''],
    ['a=b', 'a=b'],
    ['a,"b"', '"a,""b"""'],
  ] as const)
    t.equal(formatCsvLine([value]), `${cell}\n`)
})
