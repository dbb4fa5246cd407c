// Prints the filter of system calls that containerd calls RuntimeDefault, for a container without capabilities.
package main

import (
	"encoding/json"
	"os"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

func main() {
	none := &specs.LinuxCapabilities{}
	spec := &specs.Spec{Process: &specs.Process{Capabilities: none}}
	if err := json.NewEncoder(os.Stdout).Encode(seccomp.DefaultProfile(spec)); err != nil {
		panic(err)
	}
}
