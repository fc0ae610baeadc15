# A container with the program built in it. Untested: no container runtime was at hand when it was written.
FROM debian:12 AS build
COPY . /servetwin
WORKDIR /servetwin
RUN tools/setup && cmake --preset release -DBUILD_TESTING=OFF && cmake --build --preset release \
    && cmake --install build/release --prefix /usr/local

FROM debian:12
RUN apt-get update && apt-get install -y --no-install-recommends \
      libyaml-cpp0.7 libspdlog1.10 libfmt9 libssl3 libpcre2-8-0 libutf8proc2 zlib1g libzstd1 libsimdjson14 \
      libprometheus-cpp-core1.0 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /usr/local /usr/local
ENTRYPOINT ["servetwin"]
