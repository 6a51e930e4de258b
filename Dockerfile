# The operator's image for builders with a container engine. Without one, hack/image builds the same image.
#
#   docker buildx build --platform linux/amd64,linux/arm64 .                      compiles, needs the Go module proxy
#   docker buildx build --build-arg SOURCE=prebuilt --build-arg BINARY=bin/x .    takes a static binary, needs no network
#
# With SOURCE=prebuilt only that stage is built. BINARY is then a path in the build context; its default has the platform in it, so
# that one build serves several. The prebuilt path has no CA certificates: the operator speaks to the cluster it runs in, whose CA
# comes with the service account.
ARG GO_IMAGE=golang:1.26
ARG SOURCE=compiled

FROM --platform=${BUILDPLATFORM} ${GO_IMAGE} AS compiled
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
# The dependencies are a layer of their own: a change of our code does not fetch them again.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# No C library and no build identifier: the image has no loader, and the same sources give the same binary.
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags='-s -w -buildid=' -o /image/mongotuning ./cmd/mongotuning \
    && mkdir -p /image/etc/ssl/certs \
    && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/

FROM scratch AS prebuilt
ARG TARGETOS
ARG TARGETARCH
ARG BINARY=bin/mongotuning-${TARGETOS}-${TARGETARCH}
COPY --chmod=0755 ${BINARY} /image/mongotuning

FROM ${SOURCE} AS selected

FROM scratch
COPY --from=selected /image/ /
# The kubelet hands on the user alone; a user without an entry here would run in root's group.
COPY --chmod=0644 <<PASSWD /etc/passwd
root:x:0:0:root:/:/sbin/nologin
nonroot:x:65532:65532:nonroot:/:/sbin/nologin
PASSWD
COPY --chmod=0644 <<GROUP /etc/group
root:x:0:
nonroot:x:65532:
GROUP
WORKDIR /
# Distroless's nonroot, as numbers: the kubelet can check runAsNonRoot without reading the image's users.
USER 65532:65532
ENTRYPOINT ["/mongotuning"]
