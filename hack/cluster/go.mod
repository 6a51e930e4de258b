module github.com/mongotuning/mongotuning/hack/cluster

go 1.26.0
