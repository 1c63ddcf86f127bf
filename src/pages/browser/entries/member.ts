/** The pages of a member, which are whole without it: dialogs, the reader's own time zone, and one press for one form. */
import './site.ts'
import { setUpDialogs } from '../components/dialogs.ts'
import { showLocalTimes } from '../components/local-times.ts'
import { selectRefusedEntry, setUpPostForms, submitOpenedForm } from '../components/post-forms.ts'

setUpDialogs()
showLocalTimes()
setUpPostForms()
selectRefusedEntry()
submitOpenedForm()
