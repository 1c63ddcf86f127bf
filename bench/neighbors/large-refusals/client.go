// Sends requests with net/http from goroutines. Arguments: URL, token, file of the body, count, goroutines. Prints a count for each outcome.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
)

func main() {
	url, token, file := os.Args[1], os.Args[2], os.Args[3]
	count, _ := strconv.Atoi(os.Args[4])
	parallel, _ := strconv.Atoi(os.Args[5])
	body, _ := os.ReadFile(file)
	jobs := make(chan int)
	outcomes := map[string]int{}
	var lock sync.Mutex
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for range jobs {
				outcome := send(url, token, body)
				lock.Lock()
				outcomes[outcome]++
				lock.Unlock()
			}
		})
	}
	for i := range count {
		jobs <- i
	}
	close(jobs)
	workers.Wait()
	for outcome, times := range outcomes {
		fmt.Println(times, outcome)
	}
}

func send(url, token string, body []byte) string {
	request, _ := http.NewRequest("POST", url, bytes.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	if bytes.Contains(text, []byte(`"requestId"`)) {
		return strconv.Itoa(response.StatusCode) + " envelope"
	}
	return strconv.Itoa(response.StatusCode)
}
