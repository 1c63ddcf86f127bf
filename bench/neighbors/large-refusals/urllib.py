"""Sends requests with urllib from threads. Arguments: URL, token, file of the body, count, threads. Prints a count for each outcome."""
import collections, sys, threading, urllib.error, urllib.request

url, token, file, count, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
body = open(file, "rb").read()
outcomes, lock = collections.Counter(), threading.Lock()
left = iter(range(count))

def run():
    while True:
        with lock:
            if next(left, None) is None:
                return
        request = urllib.request.Request(url, body, {"authorization": "Bearer " + token, "content-type": "application/json"})
        try:
            outcome = str(urllib.request.urlopen(request).status)
        except urllib.error.HTTPError as error:
            outcome = str(error.code) + (" envelope" if b'"requestId"' in error.read() else "")
        except Exception as error:
            outcome = repr(error)
        with lock:
            outcomes[outcome] += 1

workers = [threading.Thread(target=run) for _ in range(threads)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
for outcome, times in outcomes.items():
    print(times, outcome)
