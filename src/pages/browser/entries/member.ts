/** The pages of a member, which are whole without it: dialogs, the reader's own time zone, and one press for one form. */
import './site.ts'
import { setUpDialogs } from '../components/dialogs.ts'
import { showLocalTimes } from '../components/local-times.ts'
import { findElements } from '../page.ts'
import { selectRefusedEntry, setUpPostForms, submitOpenedForm } from '../components/post-forms.ts'

setUpDialogs()
showLocalTimes()
setUpPostForms()
selectRefusedEntry()
submitOpenedForm()

const passkeys = findElements('[data-passkey]', HTMLElement)
if (passkeys.length > 0) void import('../lazy/passkeys.ts').then(({ setUpPasskeys }) => setUpPasskeys(passkeys))

const charts = findElements('[data-chart]', HTMLElement)
if (charts.length > 0) void import('../lazy/chart-values.ts').then(({ setUpCharts }) => setUpCharts(charts))
